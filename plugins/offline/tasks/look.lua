-- Files by name: lists and counts.

local kit = require("kit")
local path = require("path")
local text = require("crystal.text")

local look = {}

--- Most paths that an answer lists.
local MOST = 60

--- The pattern and the words for a kind of file: a language, an extension, or any.
local function kind(word)
  word = text.trim(word or "")
  local low = word:lower()
  if low == "" or low == "all" or low == "the" or low == "all the" then
    return "**/*", ""
  end
  local language = kit.language(word)
  if language then
    return kit.pattern_of(language), language.name .. " "
  end
  local extension = word:match("^%*?%.?(%w+)$")
  if low == "test" or low == "tests" then
    return "**/*{test,spec}*", "test "
  end
  if extension then
    return "**/*." .. extension, "`." .. extension .. "` "
  end
  return "**/*" .. kit.any_case(word) .. "*", "\"" .. word .. "\" "
end

local function bullets(paths, total)
  local shown = kit.first(paths, MOST)
  local out = table.concat(shown, "\n")
  if total > #shown then
    out ..= "\n… and " .. (total - #shown) .. " more"
  end
  return out
end

local function listed(result, what, where)
  if result.failed then
    return kit.failure("Listing the files failed", result)
  end
  local paths, total = kit.paths(result)
  if total == 0 then
    return "There are no " .. what .. "files" .. where .. "."
  end
  local head = (total == 1 and "There is 1 " .. what .. "file" or "There are " .. total .. " " .. what .. "files") .. where .. ":"
  return head .. "\n\n" .. bullets(paths, total)
end

function look.everything(w)
  return look.list(w, "")
end

function look.list(w, word)
  local pattern, what = kind(word)
  local result = w:use("Listing the " .. what .. "files.", "glob", { pattern = pattern })
  return listed(result, what, "")
end

function look.list_in(w, directory)
  local folder = directory:gsub("/+$", "")
  local result = w:use("Listing " .. folder .. "/.", "glob", { pattern = "**/*", path = folder })
  if result.failed and not result.text:find("there is no directory", 1, true) then
    return kit.failure("Listing " .. folder .. "/ failed", result)
  end
  if result.failed then
    return "There is no directory `" .. folder .. "`."
  end
  return listed(result, "", " in " .. folder .. "/")
end

function look.named(w, name)
  local result = w:use("Looking for files named " .. name .. ".", "glob", { pattern = path.pattern(name) })
  return listed(result, "", " named `" .. name .. "`")
end

function look.count_files(w, word)
  local pattern, what = kind(word)
  local result = w:use("Counting the " .. what .. "files.", "glob", { pattern = pattern })
  if result.failed then
    return kit.failure("Counting the files failed", result)
  end
  local _, total = kit.paths(result)
  return (total == 1 and "There is 1 " .. what .. "file." or "There are " .. total .. " " .. what .. "files.")
end

function look.count_lines(w, name)
  local found = path.read(w, name)
  if not found.lines then
    return found.answer
  end
  local total = kit.total_lines(found.result, #found.lines)
  return "`" .. found.path .. "` has " .. kit.count(total, "line") .. "."
end

return look
