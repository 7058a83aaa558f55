-- Commands.

local kit = require("kit")
local overview = require("tasks.overview")
local text = require("crystal.text")

local run = {}

--- Most lines of output that an answer quotes: the last ones, where a command says how it went.
local MOST = 25

local BUILDS = {
  { file = "Cargo.toml", command = "cargo build" }, { file = "package.json", command = "npm run build" },
  { file = "go.mod", command = "go build ./..." }, { file = "pom.xml", command = "mvn package" },
  { file = "build.gradle", command = "gradle build" }, { file = "Makefile", command = "make" },
}

local function tail(lines)
  local out = {}
  for place = math.max(1, #lines - MOST + 1), #lines do
    table.insert(out, lines[place])
  end
  return out, #lines > MOST
end

function run.command(w, command)
  local result = w:use("Running `" .. command .. "`.", "bash", { command = command })
  local code = result.text:match("%[exit code (%d+)")
  if not code then
    if result.failed then
      return kit.failure("`" .. command .. "` did not run to its end", result)
    end
    code = "0"
  end
  local lines = {}
  for _, line in text.lines(result.text) do
    if not line:match("^%[exit code %d+.*%]$") and line ~= "[no output]" then
      table.insert(lines, line)
    end
  end
  local head = if code == "0" then "`" .. command .. "` succeeded" else "`" .. command .. "` failed with exit code " .. code
  if #lines == 0 then
    return head .. " and printed nothing."
  end
  local last, cut = tail(lines)
  return head .. ". It printed" .. (cut and " (the last " .. MOST .. " lines)" or "") .. ":\n\n" .. kit.block(last)
end

local function project_files(w)
  local files = {}
  for _, project in overview.PROJECTS do
    table.insert(files, project.file)
  end
  return w:use("Looking for how this project is built.", "glob", { pattern = "{" .. table.concat(files, ",") .. "}" })
end

local function by_project(w, what, choose)
  if not w:offers("bash") then
    return kit.missing_tool("bash", w.turn)
  end
  local result = project_files(w)
  if result.failed then
    return kit.failure("Looking for project files failed", result)
  end
  local command = choose(kit.paths(result))
  if not command then
    return "I see no file here that says how to " .. what .. " this project. Say it as a command: Run `make " .. what .. "`"
  end
  return run.command(w, command)
end

function run.tests(w)
  return by_project(w, "test", overview.test_command)
end

function run.build(w)
  return by_project(w, "build", function(paths)
    for _, build in BUILDS do
      if table.find(paths, build.file) then
        return build.command
      end
    end
    return nil
  end)
end

return run
