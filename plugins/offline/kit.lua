-- What several tasks need: words, file kinds, and reading what the tools say.

local text = require("crystal.text")

local kit = {}

--- File name extensions by what people call the language.
kit.LANGUAGES = {
  { name = "Rust", words = { "rust" }, extensions = { "rs" } },
  { name = "Python", words = { "python" }, extensions = { "py" } },
  { name = "JavaScript", words = { "javascript", "js" }, extensions = { "js", "mjs", "cjs", "jsx" } },
  { name = "TypeScript", words = { "typescript", "ts" }, extensions = { "ts", "tsx" } },
  { name = "Go", words = { "go", "golang" }, extensions = { "go" } },
  { name = "C", words = { "c" }, extensions = { "c", "h" } },
  { name = "C++", words = { "c++", "cpp" }, extensions = { "cpp", "cc", "hpp", "hh" } },
  { name = "C#", words = { "c#", "csharp" }, extensions = { "cs" } },
  { name = "Java", words = { "java" }, extensions = { "java" } },
  { name = "Kotlin", words = { "kotlin" }, extensions = { "kt", "kts" } },
  { name = "Swift", words = { "swift" }, extensions = { "swift" } },
  { name = "Ruby", words = { "ruby" }, extensions = { "rb" } },
  { name = "PHP", words = { "php" }, extensions = { "php" } },
  { name = "Lua", words = { "lua", "luau" }, extensions = { "lua", "luau" } },
  { name = "Rhai", words = { "rhai" }, extensions = { "rhai" } },
  { name = "Shell", words = { "shell", "bash" }, extensions = { "sh", "bash" } },
  { name = "HTML", words = { "html" }, extensions = { "html", "htm" } },
  { name = "CSS", words = { "css" }, extensions = { "css", "scss" } },
  { name = "SQL", words = { "sql" }, extensions = { "sql" } },
  { name = "Markdown", words = { "markdown", "md" }, extensions = { "md" } },
  { name = "JSON", words = { "json" }, extensions = { "json" } },
  { name = "TOML", words = { "toml" }, extensions = { "toml" } },
  { name = "YAML", words = { "yaml", "yml" }, extensions = { "yaml", "yml" } },
  { name = "text", words = { "text", "txt" }, extensions = { "txt" } },
}

--- The language that a word names.
function kit.language(word)
  local low = word:lower()
  for _, language in kit.LANGUAGES do
    if table.find(language.words, low) then
      return language
    end
  end
  return nil
end

--- The language of a path, by its extension.
function kit.language_of(path)
  local extension = path:match("%.(%w+)$")
  for _, language in kit.LANGUAGES do
    if extension and table.find(language.extensions, extension:lower()) then
      return language
    end
  end
  return nil
end

--- The glob pattern of a language's files.
function kit.pattern_of(language)
  if #language.extensions == 1 then
    return "**/*." .. language.extensions[1]
  end
  return "**/*.{" .. table.concat(language.extensions, ",") .. "}"
end

--- `1 file`, `2 files`.
function kit.count(number, one, many)
  return number .. " " .. (number == 1 and one or many or one .. "s")
end

--- A block of lines as they stand.
function kit.block(lines)
  local fence = "```"
  for _, line in lines do
    while line:find(fence, 1, true) do
      fence ..= "`"
    end
  end
  return fence .. "\n" .. table.concat(lines, "\n") .. "\n" .. fence
end

--- The first lines of a list, and how many it left out.
function kit.first(lines, most)
  local out = {}
  for place = 1, math.min(#lines, most) do
    out[place] = lines[place]
  end
  return out, math.max(0, #lines - most)
end

--- Text as a regular expression that matches it and nothing else.
function kit.literal(s)
  return (s:gsub("[%^%$%(%)%.%[%]%*%+%?{}|\\]", "\\%0"))
end

--- A glob pattern that matches a name in any case.
function kit.any_case(name)
  return (name:gsub("%a", function(letter)
    return "[" .. letter:lower() .. letter:upper() .. "]"
  end))
end

--- The paths in an answer of `glob`, and how many there are in all.
function kit.paths(result)
  local paths, total = {}, nil
  if result.failed or text.starts_with(result.text, "No files match") then
    return paths, 0
  end
  for _, line in text.lines(result.text) do
    local of = line:match("^%[.* of (%d+) files are listed")
    if of then
      total = tonumber(of)
    elseif line ~= "" and not line:match("^%[.*%]$") then
      table.insert(paths, line)
    end
  end
  table.sort(paths)
  return paths, total or #paths
end

--- The matches in an answer of `grep`: `{ path, line, text }` each.
function kit.matches(result)
  local matches = {}
  if result.failed or text.starts_with(result.text, "No matches") then
    return matches
  end
  for _, line in text.lines(result.text) do
    local path, number, rest = line:match("^(.-):(%d+):(.*)$")
    if path then
      table.insert(matches, { path = path, line = tonumber(number), text = rest })
    end
  end
  return matches
end

--- Whether an answer of a search says that it left something out.
function kit.is_cut(result)
  return result.text:find("\n%[the search stopped after") ~= nil
end

--- The lines of a file in an answer of `read`, by number.
function kit.file_lines(result)
  local lines = {}
  for _, line in text.lines(result.text) do
    local rest = line:match("^%s*%d+\t(.*)$")
    if rest then
      table.insert(lines, rest)
    end
  end
  return lines
end

--- How many lines a file has in all, when `read` did not show them all.
function kit.total_lines(result, shown)
  return tonumber(result.text:match("<lines %d+%-%d+ of (%d+) are not shown")) or shown
end

--- A failure as one sentence.
function kit.failure(what, result)
  local reason = text.trim(result.text)
  if reason == "" then
    reason = "no reason was given"
  end
  return what .. ": " .. text.cut(reason, 1500)
end

--- What to say when a tool is not on offer.
function kit.missing_tool(name, turn)
  if turn.purpose == "plan" then
    return "This needs the tool `" .. name .. "`, which Plan mode does not offer: it only looks. In Work mode I can do it."
  end
  return "This needs the tool `" .. name .. "`, which is not offered in this session, so I cannot do it."
end

return kit
