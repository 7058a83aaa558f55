-- The session's todo list.

local kit = require("kit")
local text = require("crystal.text")

local todo = {}

local function entries(words)
  local out = {}
  local separator = if words:find("[;\n]") then "[;\n]+" else ","
  for _, part in words:gsub(separator, "\1"):split("\1") do
    part = text.trim((text.trim(part):gsub("^and%s+", ""):gsub("^%-%s+", "")))
    if part ~= "" then
      table.insert(out, { content = part, status = "pending" })
    end
  end
  return out
end

local function parse(result)
  local out = {}
  for _, line in text.lines(result.text) do
    local status, content = line:match("^%d+%. %[([%a_]+)%] (.+)$")
    if status then
      table.insert(out, { content = content, status = status })
    end
  end
  return out
end

local function listing(list)
  local marks = { pending = "[ ]", in_progress = "[~]", completed = "[x]", cancelled = "[-]" }
  local lines = {}
  for _, entry in list do
    table.insert(lines, "- " .. (marks[entry.status] or "[ ]") .. " " .. entry.content)
  end
  return table.concat(lines, "\n")
end

local function write(w, list, said)
  local result = w:use("Writing the todo list.", "todowrite", { todos = crystal.array(list) })
  if result.failed then
    return kit.failure("The todo list was not written", result)
  end
  return said .. "\n\n" .. listing(list)
end

local function read(w)
  local result = w:use("Reading the todo list.", "todoread", {})
  return if result.failed then nil else parse(result), result
end

function todo.show(w)
  local list, result = read(w)
  if not list then
    return kit.failure("The todo list could not be read", result)
  end
  if #list == 0 then
    return "The todo list is empty."
  end
  return "The todo list:\n\n" .. listing(list)
end

function todo.make(w, words)
  local list = entries(words)
  return write(w, list, "The todo list has " .. kit.count(#list, "entry", "entries") .. ":")
end

function todo.add(w, words)
  local list, result = read(w)
  if not list then
    return kit.failure("The todo list could not be read", result)
  end
  local new = entries(words)
  for _, entry in new do
    table.insert(list, entry)
  end
  return write(w, list, "I added " .. kit.count(#new, "entry", "entries") .. ":")
end

function todo.done(w, words)
  local list, result = read(w)
  if not list then
    return kit.failure("The todo list could not be read", result)
  end
  for _, entry in list do
    if entry.content:lower():find(words:lower(), 1, true) then
      entry.status = "completed"
      return write(w, list, "Done: " .. entry.content)
    end
  end
  return "The todo list has no entry like \"" .. words .. "\"."
end

return todo
