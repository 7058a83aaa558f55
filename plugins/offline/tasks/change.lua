-- Changes: replace, remove, append, create, overwrite. Each file is read before it is changed.

local kit = require("kit")
local path = require("path")
local text = require("crystal.text")

local change = {}

--- Drops the words that say what kind of text is meant.
local function meant(words)
  for _, start in { "every occurrence of ", "all occurrences of ", "the text ", "the word ", "the string ", "the line ", "the name ",
    "every ", "all " } do
    if words:lower():sub(1, #start) == start then
      return words:sub(#start + 1)
    end
  end
  return words
end

local function body(words)
  for _, start in { "the text ", "the content ", "the contents ", "the line ", "the words ", "content ", "text " } do
    if words:lower():sub(1, #start) == start then
      words = words:sub(#start + 1)
      break
    end
  end
  return words
end

--- The name of a file that is to be written, as it was typed.
local function target(name)
  return path.clean(name)
end

local function occurrences(lines, part)
  local whole = table.concat(lines, "\n")
  return #whole:split(part) - 1
end

local function not_done(what, result)
  return kit.failure(what, result) .. "\n\nNothing was changed."
end

--- Replaces `old` in a file; the file is whatever the request calls it.
local function edit(w, name, old, new, done)
  if not w:offers("edit") then
    return kit.missing_tool("edit", w.turn)
  end
  if old == "" then
    return "I need the text to replace; put it in quotes."
  end
  local found = path.read(w, name)
  if not found.lines then
    return found.answer
  end
  local count = occurrences(found.lines, old)
  if count == 0 then
    return "`" .. found.path .. "` does not contain `" .. old .. "`, so I changed nothing."
  end
  local arguments = { path = found.path, old_string = old, new_string = new }
  if count > 1 then
    arguments.replace_all = true
  end
  local result = w:use("Changing " .. kit.count(count, "place") .. " in " .. found.path .. ".", "edit", arguments)
  if result.failed then
    return not_done("The edit of `" .. found.path .. "` was not made", result)
  end
  return done(count, found.path)
end

function change.replace(w, old, new, name)
  old = meant(old)
  return edit(w, name, old, new, function(count, file)
    return "I replaced `" .. old .. "` with `" .. new .. "` in `" .. file .. "`, " .. kit.count(count, "place") .. "."
  end)
end

function change.replace_in(w, name, old, new)
  return change.replace(w, old, new, name)
end

function change.remove(w, old, name)
  old = meant(old)
  return edit(w, name, old, "", function(count, file)
    return "I removed `" .. old .. "` from `" .. file .. "`, " .. kit.count(count, "place") .. "."
  end)
end

local function ended(contents)
  if contents ~= "" and not text.ends_with(contents, "\n") then
    contents ..= "\n"
  end
  return contents
end

local function write(w, file, contents, verb)
  local result = w:use("Writing " .. file .. ".", "write", { path = file, contents = ended(contents) })
  if result.failed then
    return not_done("`" .. file .. "` was not written", result)
  end
  local lines = text.lines(contents)
  local shown, more = kit.first(lines, 20)
  local head = "I " .. verb .. " `" .. file .. "` with " .. kit.count(#lines, "line")
  if #lines == 0 then
    return "I " .. verb .. " `" .. file .. "`, which is empty."
  end
  return head .. ":\n\n" .. kit.block(shown) .. (more > 0 and "\n… and " .. kit.count(more, "more line") or "")
end

local function is_missing(result)
  return result.failed and result.text:find("there is no file", 1, true) ~= nil
end

function change.create(w, name, contents)
  if not w:offers("write") then
    return kit.missing_tool("write", w.turn)
  end
  local file = target(name)
  if file == "" or file:find("%s") then
    return "I need a file name without spaces, or one in quotes: Create notes.txt with \"Hello\""
  end
  contents = body(contents)
  local there = w:use("Making sure that " .. file .. " is not there yet.", "read", { path = file, limit = 1 })
  if not there.failed then
    return "`" .. file .. "` is there already, so I left it alone. Say \"Overwrite " .. file .. " with …\" to replace it, or \"Append … to "
      .. file .. "\"."
  end
  if not is_missing(there) then
    return not_done("`" .. file .. "` was not created", there)
  end
  return write(w, file, contents, "created")
end

function change.create_empty(w, name)
  return change.create(w, name, "")
end

function change.write_into(w, contents, name)
  return change.create(w, name, contents)
end

function change.overwrite(w, name, contents)
  if not w:offers("write") then
    return kit.missing_tool("write", w.turn)
  end
  local file = target(name)
  local there = w:use("Reading " .. file .. " before it is replaced.", "read", { path = file })
  if there.failed and not is_missing(there) then
    return not_done("`" .. file .. "` was not written", there)
  end
  return write(w, file, body(contents), if there.failed then "created" else "replaced")
end

function change.append(w, addition, name)
  if not w:offers("write") then
    return kit.missing_tool("write", w.turn)
  end
  local found = path.read(w, name)
  if not found.lines then
    return found.answer
  end
  if kit.total_lines(found.result, #found.lines) > #found.lines or found.result.text:find("<line ", 1, true) then
    return "`" .. found.path .. "` is too long for me to append to safely, so I left it alone."
  end
  addition = body(addition)
  local lines = table.clone(found.lines)
  table.insert(lines, addition)
  local contents = table.concat(lines, "\n") .. "\n"
  local result = w:use("Adding to the end of " .. found.path .. ".", "write", { path = found.path, contents = contents })
  if result.failed then
    return not_done("`" .. found.path .. "` was not changed", result)
  end
  return "I added to the end of `" .. found.path .. "`:\n\n" .. kit.block(text.lines(addition))
end

return change
