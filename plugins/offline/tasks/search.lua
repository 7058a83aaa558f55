-- Text in files: finding, counting, definitions and uses.

local kit = require("kit")
local text = require("crystal.text")

local search = {}

--- Most matching lines that an answer quotes.
local MOST = 25

--- Words that begin a definition, in the languages people use.
local DEFINERS = "fn|struct|enum|trait|type|union|mod|macro_rules!|const|static|class|def|function|func|interface|let|var|val|"
  .. "module|object|record|namespace|protocol|extension|local|fun|void|int|sub"

local function clean(what)
  for _, start in { "the function ", "the struct ", "the class ", "the type ", "the method ", "the word ", "the text ",
    "the string ", "the constant ", "the variable ", "function ", "struct ", "class ", "type ", "trait ", "enum ", "all ", "the " } do
    if what:lower():sub(1, #start) == start then
      what = what:sub(#start + 1)
      break
    end
  end
  for _, ending in { " in this repository", " in the repository", " in this project", " in the project", " in the code",
    " in all files", " in this repo", " anywhere", " comments", " markers" } do
    if what:lower():sub(-#ending) == ending then
      what = what:sub(1, -#ending - 1)
      break
    end
  end
  what = text.trim((what:gsub("%(%)$", "")))
  -- TODOs are lines with TODO.
  return what:match("^(%u%u+)s$") or what
end

--- The thing to look for and, where the request ends in one, a place: `TODO in src`.
local function split(what)
  local needle, place = what:match("^(.+) in (%S+)$")
  if needle and (place:find("[/%.]") or not place:match("^%a+$") or #place > 1) then
    return clean(needle), (place:gsub("/+$", ""))
  end
  return clean(what), nil
end

local function by_file(matches)
  local files, order = {}, {}
  for _, match in matches do
    if not files[match.path] then
      files[match.path] = 0
      table.insert(order, match.path)
    end
    files[match.path] += 1
  end
  return order, files
end

local function quote(matches)
  local lines = {}
  for _, match in matches do
    table.insert(lines, match.path .. ":" .. match.line .. ": " .. text.cut(text.trim(match.text), 160))
  end
  local shown, more = kit.first(lines, MOST)
  return kit.block(shown) .. (more > 0 and "\n… and " .. kit.count(more, "more line", "more lines") or "")
end

local function grep(w, why, pattern, place)
  local arguments = { pattern = pattern }
  if place then
    arguments.path = place
  end
  return w:use(why, "grep", arguments)
end

local function report(result, needle, place)
  local where = place and " in `" .. place .. "`" or ""
  if result.failed then
    return kit.failure("Searching for `" .. needle .. "`" .. where .. " failed", result)
  end
  local matches = kit.matches(result)
  if #matches == 0 then
    return "I found no `" .. needle .. "`" .. where .. "."
  end
  local order = by_file(matches)
  local least = kit.is_cut(result) and "at least " or ""
  return "`" .. needle .. "` is on " .. least .. kit.count(#matches, "line") .. " of " .. kit.count(#order, "file") .. where .. ":\n\n"
    .. quote(matches)
end

function search.find(w, what)
  local needle, place = split(what)
  return report(grep(w, "Searching for " .. needle .. ".", kit.literal(needle), place), needle, place)
end

function search.used(w, what)
  local needle = clean(what)
  local whole = needle:match("^[%w_]+$") and "\\b" .. needle .. "\\b" or kit.literal(needle)
  return report(grep(w, "Searching for uses of " .. needle .. ".", whole), needle)
end

function search.count(w, what)
  local needle, place = split(what)
  local result = grep(w, "Counting " .. needle .. ".", kit.literal(needle), place)
  if result.failed then
    return kit.failure("Counting `" .. needle .. "` failed", result)
  end
  local matches = kit.matches(result)
  local order, files = by_file(matches)
  if #matches == 0 then
    return "`" .. needle .. "` occurs nowhere" .. (place and " in `" .. place .. "`" or "") .. "."
  end
  local lines = {}
  for _, path in order do
    table.insert(lines, path .. ": " .. files[path])
  end
  local shown, more = kit.first(lines, MOST)
  return "`" .. needle .. "` is on " .. (kit.is_cut(result) and "at least " or "") .. kit.count(#matches, "line") .. " of "
    .. kit.count(#order, "file") .. ":\n\n" .. table.concat(shown, "\n") .. (more > 0 and "\n… and " .. kit.count(more, "more file") or "")
end

function search.defined(w, what)
  local needle = clean(what)
  local name = kit.literal(needle)
  local result = grep(w, "Looking for the definition of " .. needle .. ".", "\\b(" .. DEFINERS .. ")\\s+" .. name .. "\\b")
  if result.failed then
    return kit.failure("Searching failed", result)
  end
  local matches = kit.matches(result)
  if #matches == 0 then
    result = grep(w, "No definition by name; searching for " .. needle .. " itself.", name)
    if not result.failed and #kit.matches(result) > 0 then
      return "I found no line that defines `" .. needle .. "`, but it is mentioned. " .. report(result, needle)
    end
    return report(result, needle)
  end
  if #matches == 1 then
    local match = matches[1]
    local around = w:use("Reading around line " .. match.line .. " of " .. match.path .. ".", "read",
      { path = match.path, offset = math.max(1, match.line - 3), limit = 16 })
    local head = "`" .. needle .. "` is defined in " .. match.path .. ", line " .. match.line .. ":\n\n"
    if around.failed then
      return head .. quote(matches)
    end
    return head .. kit.block(kit.file_lines(around))
  end
  return "`" .. needle .. "` is defined on " .. kit.count(#matches, "line") .. ":\n\n" .. quote(matches)
end

return search
