-- A repository at a glance: what it says of itself, what it holds, how it is built.

local kit = require("kit")
local show = require("tasks.show")
local text = require("crystal.text")

local overview = {}

--- Files that name a project, and what can be told from one.
local PROJECTS = {
  { file = "Cargo.toml", what = "a Rust crate", test = "cargo test" },
  { file = "package.json", what = "a JavaScript package", test = "npm test" },
  { file = "pyproject.toml", what = "a Python project", test = "pytest" },
  { file = "go.mod", what = "a Go module", test = "go test ./..." },
  { file = "pom.xml", what = "a Maven project", test = "mvn test" },
  { file = "build.gradle", what = "a Gradle project", test = "gradle test" },
  { file = "CMakeLists.txt", what = "a CMake project" },
  { file = "Makefile", what = "a project with a Makefile", test = "make test" },
}

local function find_project(paths)
  for _, project in PROJECTS do
    if table.find(paths, project.file) then
      return project
    end
  end
  return nil
end

local function find_readme(paths)
  for _, path in paths do
    if path:lower():match("^readme[%.%w]*$") then
      return path
    end
  end
  return nil
end

--- A field of a manifest, from its first lines.
local function field(lines, name)
  for _, line in lines do
    local value = line:match("^%s*" .. name .. "%s*=%s*[\"'](.-)[\"']") or line:match('^%s*"' .. name .. '"%s*:%s*"(.-)"')
    if value then
      return value
    end
  end
  return nil
end

local function kinds(paths)
  local counts, order, other = {}, {}, 0
  for _, path in paths do
    local language = kit.language_of(path)
    if not language then
      other += 1
    else
      if not counts[language.name] then
        counts[language.name] = 0
        table.insert(order, language.name)
      end
      counts[language.name] += 1
    end
  end
  table.sort(order, function(a, b)
    if counts[a] == counts[b] then
      return a < b
    end
    return counts[a] > counts[b]
  end)
  local out = {}
  for place, name in order do
    if place <= 6 then
      table.insert(out, counts[name] .. " " .. name)
    else
      other += counts[name]
    end
  end
  if other > 0 then
    table.insert(out, other .. " other")
  end
  return table.concat(out, ", ")
end

local function top(paths)
  local folders, order, files = {}, {}, {}
  for _, path in paths do
    local folder = path:match("^([^/]+)/")
    if not folder then
      table.insert(files, "- " .. path)
    elseif folders[folder] then
      folders[folder] += 1
    else
      folders[folder] = 1
      table.insert(order, folder)
    end
  end
  local out = {}
  for _, folder in order do
    table.insert(out, "- " .. folder .. "/ (" .. kit.count(folders[folder], "file") .. ")")
  end
  for _, file in files do
    table.insert(out, file)
  end
  local shown, more = kit.first(out, 30)
  return table.concat(shown, "\n") .. (more > 0 and "\n- … and " .. more .. " more" or "")
end

function overview.describe(w)
  local result = w:use("Looking at what is here.", "glob", { pattern = "**/*" })
  if result.failed then
    return kit.failure("Listing the files failed", result)
  end
  local paths, total = kit.paths(result)
  if total == 0 then
    return "This directory holds no files yet. Try: Create hello.txt with \"Hello\""
  end
  local project, readme = find_project(paths), find_readme(paths)
  local calls = {}
  if readme then
    table.insert(calls, { name = "read", arguments = { path = readme, limit = 80 } })
  end
  if project then
    table.insert(calls, { name = "read", arguments = { path = project.file, limit = 80 } })
  end
  local lines = {}
  if #calls > 0 then
    local names = {}
    for _, call in calls do
      table.insert(names, call.arguments.path)
    end
    for place, answer in w:use_all("Reading " .. table.concat(names, " and ") .. ".", calls) do
      lines[calls[place].arguments.path] = if answer.failed then {} else kit.file_lines(answer)
    end
  end
  local parts = {}
  if project then
    local manifest = lines[project.file]
    local name, description = field(manifest, "name"), field(manifest, "description")
    table.insert(parts, "This is " .. (name and "`" .. name .. "`, " or "") .. project.what .. "."
      .. (description and " Its description: " .. description .. "." or ""))
  end
  if readme then
    local paragraph = show.paragraph(lines[readme])
    if paragraph ~= "" then
      table.insert(parts, readme .. " says: " .. paragraph)
    end
  end
  table.insert(parts, "It holds " .. kit.count(total, "file") .. ": " .. kinds(paths) .. "." .. (total > #paths and " (counted by kind: the newest " .. #paths .. ")" or ""))
  table.insert(parts, "At the top:\n\n" .. top(paths))
  table.insert(parts, "Next you could ask: " .. (readme and "\"Show " .. readme .. "\", " or "") .. "\"Find TODO\""
    .. (project and project.test and ", \"Run the tests\" (`" .. project.test .. "`)" or "") .. ".")
  return table.concat(parts, "\n\n")
end

--- The command that tests a project, by the files at its top.
function overview.test_command(paths)
  local project = find_project(paths)
  return project and project.test
end

overview.PROJECTS = PROJECTS

return overview
