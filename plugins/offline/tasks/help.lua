-- What it is, what it understands, and how to get a real model.

local text = require("crystal.text")

local help = {}

local LIST = [[
- look: "What is in this repository?", "List the Rust files", "How many TOML files are there?", "What is in src/?"
- search: "Find TODO", "Where is parse_args defined?", "Where is Config used?", "How many TODOs are there?"
- read: "Show README.md", "Show lines 10 to 30 of src/main.rs", "Explain src/main.rs"
- change: "Replace "foo" with "bar" in src/main.rs", "Create notes.txt with "Hello"", "Append "more" to notes.txt"
- run: "Run the tests", "Build it", "Run `git status`"
- keep a list: "Make a todo list: read the code, fix the bug", "Add a todo: write the docs", "Show the todo list"

Several requests can stand in one message, joined by "and then" or by semicolons.]]

local SETUP = [[
To talk to a language model, store a key and name its provider (`deepseek`, `openai`, `anthropic`, `gemini`, or your own):

    crystal keys set PROVIDER
    crystal run --provider PROVIDER "your task"]]

function help.greet(_w)
  return "I am Crystal's offline stand-in: a few fixed rules in a script, not a language model. I need no network and no "
    .. "key, and I use the same tools, approvals and undo as a model would. I understand plain requests such as:\n\n"
    .. LIST .. "\n\n" .. SETUP
end

function help.lost(request)
  return "I do not understand \"" .. text.cut(request, 200) .. "\". I follow fixed rules and understand only plain requests:\n\n"
    .. LIST .. "\n\n" .. SETUP
end

return help
