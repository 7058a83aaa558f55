-- One file: shown, or explained by what can be seen without understanding it.

local kit = require("kit")
local path = require("path")
local search = require("tasks.search")
local text = require("crystal.text")

local show = {}

--- Most lines of a file that an answer quotes.
local MOST = 60

--- What a definition looks like: a pattern for the trimmed line, and what it defines.
local DEFINITIONS = {
  { "^pub[%(%w%)]* fn ([%w_]+)", "functions" }, { "^pub[%(%w%)]* async fn ([%w_]+)", "functions" },
  { "^async fn ([%w_]+)", "functions" }, { "^fn ([%w_]+)", "functions" }, { "^pub[%(%w%)]* struct ([%w_]+)", "types" },
  { "^struct ([%w_]+)", "types" }, { "^pub[%(%w%)]* enum ([%w_]+)", "types" }, { "^enum ([%w_]+)", "types" },
  { "^pub[%(%w%)]* trait ([%w_]+)", "traits" }, { "^trait ([%w_]+)", "traits" }, { "^pub[%(%w%)]* mod ([%w_]+)", "modules" },
  { "^mod ([%w_]+)", "modules" }, { "^pub[%(%w%)]* const ([%w_]+)", "constants" }, { "^const ([%u_][%u%d_]+)", "constants" },
  { "^class ([%w_]+)", "types" }, { "^export class ([%w_]+)", "types" }, { "^export default class ([%w_]+)", "types" },
  { "^interface ([%w_]+)", "types" }, { "^export interface ([%w_]+)", "types" }, { "^type ([%w_]+)", "types" },
  { "^export type ([%w_]+)", "types" }, { "^def ([%w_]+)", "functions" }, { "^async def ([%w_]+)", "functions" },
  { "^export function ([%w_]+)", "functions" }, { "^export async function ([%w_]+)", "functions" },
  { "^export default function ([%w_]+)", "functions" }, { "^local function ([%w_%.:]+)", "functions" },
  { "^function ([%w_%.:]+)", "functions" }, { "^func %b() ?([%w_]+)", "functions" }, { "^func ([%w_]+)", "functions" },
}

--- The comment that a file opens with, in plain words; at most a few lines.
local function opening(lines)
  local out = {}
  for place = 1, math.min(#lines, 30) do
    local line = text.trim(lines[place])
    local words = line:match("^//!%s?(.*)") or line:match("^///?%s?(.*)") or line:match("^%-%-+%s?(.*)") or line:match("^#%s+(.*)")
      or line:match('^"""(.*)') or line:match("^/?%*+%s?(.*)")
    if line:match("^#!") or line:match("^#%[") then
      words = nil
    end
    if words == nil then
      if #out > 0 or line ~= "" and not line:match("^#") then
        break
      end
    elseif words ~= "" then
      table.insert(out, (words:gsub('"""$', ""):gsub("%*/$", "")))
    elseif #out > 0 then
      break
    end
  end
  return text.trim(table.concat(kit.first(out, 6), " "))
end

local function headings(lines)
  local out, fenced = {}, false
  for _, line in lines do
    if line:match("^```") then
      fenced = not fenced
    end
    local marks, words = line:match("^(#+)%s+(.+)$")
    if marks and not fenced then
      table.insert(out, string.rep("  ", #marks - 1) .. "- " .. words)
    end
  end
  return out
end

--- The first paragraph of running text in a Markdown file.
function show.paragraph(lines)
  local out, fenced = {}, false
  for _, line in lines do
    local words = text.trim(line)
    if words:match("^```") then
      fenced = not fenced
    end
    local plain = words ~= "" and not fenced and not words:match("^[#<%[!|>%-%*=`]")
    if plain then
      table.insert(out, words)
    elseif #out > 0 then
      break
    end
  end
  return text.cut(table.concat(out, " "), 600)
end

local function definitions(lines)
  local kinds, names = {}, {}
  for _, line in lines do
    local trimmed = text.trim(line)
    for _, definition in DEFINITIONS do
      local name = trimmed:match(definition[1])
      if name then
        local kind = definition[2]
        if not names[kind] then
          names[kind] = {}
          table.insert(kinds, kind)
        end
        if not table.find(names[kind], name) then
          table.insert(names[kind], name)
        end
        break
      end
    end
  end
  local out = {}
  for _, kind in kinds do
    local some, more = kit.first(names[kind], 15)
    table.insert(out, "- " .. kind .. ": " .. table.concat(some, ", ") .. (more > 0 and " and " .. more .. " more" or ""))
  end
  return out
end

local function sections(lines)
  local out = {}
  for _, line in lines do
    local name = line:match("^%[+([^%]]+)%]+")
    if name then
      table.insert(out, "[" .. name .. "]")
    end
  end
  return out
end

local function keys(lines)
  local out = {}
  for _, line in lines do
    local name = line:match('^  "([^"]+)":') or line:match('^\t"([^"]+)":')
    if name then
      table.insert(out, name)
    end
  end
  return out
end

local function quoted(found, lines)
  local shown, more = kit.first(lines, MOST)
  local out = kit.block(shown)
  if more > 0 then
    local total = kit.total_lines(found.result, #found.lines)
    out ..= "\n… and " .. kit.count(math.max(more, total - MOST), "more line")
      .. ". Ask for \"lines " .. (MOST + 1) .. " to " .. math.min(total, 2 * MOST) .. " of " .. found.path .. "\" to go on."
  end
  return out
end

function show.file(w, name)
  local found = path.read(w, name)
  if not found.lines then
    return found.answer
  end
  local total = kit.total_lines(found.result, #found.lines)
  if total == 0 then
    return "`" .. found.path .. "`: " .. text.trim(found.result.text)
  end
  return "`" .. found.path .. "`, " .. kit.count(total, "line") .. ":\n\n" .. quoted(found, found.lines)
end

function show.lines(w, from, to, name)
  local first, last = tonumber(from), tonumber(to)
  if last < first then
    first, last = last, first
  end
  local found = path.read(w, name, { offset = first, limit = math.min(last - first + 1, 200) })
  if not found.lines then
    return found.answer
  end
  return "`" .. found.path .. "`, from line " .. first .. ":\n\n" .. kit.block(found.lines)
end

function show.explain(w, name)
  local found = path.read(w, name)
  if not found.lines then
    -- A word that is no file may be something in one.
    if found.missing and path.clean(name):match("^[%w_:]+$") then
      return search.defined(w, path.clean(name))
    end
    return found.answer
  end
  local lines = found.lines
  local total = kit.total_lines(found.result, #lines)
  local language = kit.language_of(found.path)
  local parts = { "`" .. found.path .. "` is a " .. (language and language.name .. " " or "") .. "file of " .. kit.count(total, "line") .. "." }
  local kind = language and language.name
  if kind == "Markdown" then
    local paragraph = show.paragraph(lines)
    if paragraph ~= "" then
      table.insert(parts, "It begins: " .. paragraph)
    end
    local heads, more = kit.first(headings(lines), 25)
    if #heads > 0 then
      table.insert(parts, "Its sections:\n\n" .. table.concat(heads, "\n") .. (more > 0 and "\n… and " .. more .. " more" or ""))
    end
  elseif kind == "TOML" and #sections(lines) > 0 then
    table.insert(parts, "Its sections: " .. table.concat(kit.first(sections(lines), 30), ", ") .. ".")
  elseif kind == "JSON" and #keys(lines) > 0 then
    table.insert(parts, "Its fields: " .. table.concat(kit.first(keys(lines), 30), ", ") .. ".")
  else
    local comment = opening(lines)
    if comment ~= "" then
      table.insert(parts, "It says of itself: " .. text.cut(comment, 600))
    end
    local defined = definitions(lines)
    if #defined > 0 then
      table.insert(parts, "It defines:\n\n" .. table.concat(defined, "\n"))
    end
  end
  if #parts == 1 then
    table.insert(parts, "It begins:\n\n" .. kit.block((kit.first(lines, 15))))
  end
  table.insert(parts, "That is what can be seen by rules; what it means takes a language model.")
  return table.concat(parts, "\n\n")
end

return show
