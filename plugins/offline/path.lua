-- From what a request calls a file to the file: as it is written, or by a search for its name.

local kit = require("kit")
local text = require("crystal.text")

local path = {}

--- A name as it was typed, without what surrounds it.
function path.clean(name)
  name = text.trim(name)
  for _, start in { "the contents of ", "the content of ", "the file ", "file ", "the ", "a file ", "a new file ", "new file ",
    "named ", "called ", "my " } do
    if name:lower():sub(1, #start) == start then
      name = name:sub(#start + 1)
    end
  end
  name = name:gsub(" file$", ""):gsub("^@", "")
  return text.trim(name)
end

--- A glob pattern for a name: the name alone finds it with any extension, in any case.
function path.pattern(name)
  local base = name:gsub("^%./", "")
  if base:find("[%*%?{]") then
    return if base:find("/", 1, true) then base else "**/" .. base
  end
  local pattern = kit.any_case(base)
  if not base:match("%.%w+$") then
    pattern ..= "{,.*}"
  end
  return "**/" .. pattern
end

local function shallowest(paths)
  local best, depth = {}, math.huge
  for _, found in paths do
    local _, slashes = found:gsub("/", "")
    if slashes < depth then
      best, depth = { found }, slashes
    elseif slashes == depth then
      table.insert(best, found)
    end
  end
  return best
end

local function take(name, result)
  return { path = name, result = result, lines = kit.file_lines(result) }
end

--- Reads a file that a request names: `{ path, result, lines }`, or `{ answer }` when there is no such file to read.
function path.read(w, name, extra)
  name = path.clean(name)
  local function read(file)
    local arguments = { path = file }
    for key, value in extra or {} do
      arguments[key] = value
    end
    return w:use("Reading " .. file .. ".", "read", arguments)
  end
  local looks_like_path = name:find("/", 1, true) or name:match("%.%w+$") or name:match("^%.")
  local first
  if looks_like_path then
    first = read(name)
    if not first.failed then
      return take(name, first)
    end
    if not first.text:find("there is no file", 1, true) then
      return { answer = kit.failure("Reading `" .. name .. "` failed", first) }
    end
  end
  if name == "" or name:find("%s") and not looks_like_path then
    return { answer = "I did not find a file called \"" .. name .. "\".", missing = true }
  end
  local base = name:match("([^/]+)/*$") or name
  local result = w:use("Looking for " .. base .. ".", "glob", { pattern = path.pattern(base) })
  local paths = kit.paths(result)
  if #paths == 0 then
    return { answer = "There is no file `" .. name .. "` in this workspace.", missing = true }
  end
  local best = shallowest(paths)
  if #best > 1 then
    return { answer = "Several files fit `" .. name .. "`; which one do you mean?\n\n" .. table.concat(kit.first(best, 20), "\n"), missing = true }
  end
  local second = read(best[1])
  if second.failed then
    return { answer = kit.failure("Reading `" .. best[1] .. "` failed", second) }
  end
  return take(best[1], second)
end

return path
