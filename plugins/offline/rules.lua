-- Which request means which task. The first rule that fits counts; patterns are Luau's, letters match in any case.

local change = require("tasks.change")
local help = require("tasks.help")
local look = require("tasks.look")
local overview = require("tasks.overview")
local phrase = require("phrase")
local run = require("tasks.run")
local search = require("tasks.search")
local show = require("tasks.show")
local todo = require("tasks.todo")

local rules = {}

--- `this repository`, `the project`, `here` and the like, as the end of a question.
local PLACES = { "repository", "repo", "project", "codebase", "code base", "directory", "folder", "workspace", "program", "app" }

local function places(start, finish)
  local patterns = {}
  for _, place in PLACES do
    for _, which in { "this ", "the ", "my ", "current ", "the current ", "" } do
      table.insert(patterns, start .. which .. place .. (finish or ""))
    end
  end
  return patterns
end

local function all(...)
  local out = {}
  for _, list in { ... } do
    for _, pattern in if type(list) == "table" then list else { list } do
      table.insert(out, pattern)
    end
  end
  return out
end

rules.TABLE = {
  { help.greet, { "hello.*", "hi", "hi there.*", "hey", "good %a+", "help", "help me", "%?", "what can you do.*",
      "who are you", "what are you", "are you an? .*", "which model .*", "what model .*", "how do you work",
      "what do you understand", "thanks", "thank you.*" } },

  { change.replace_in, { "in (.-),? replace (.-) %f[%w]with%f[%W] (.*)", "in (.-),? replace (.-) %f[%w]by%f[%W] (.*)",
      "in (.-),? change (.-) %f[%w]to%f[%W] (.*)", "in (.-),? change (.-) %f[%w]into%f[%W] (.*)",
      "in (.-),? rename (.-) %f[%w]to%f[%W] (.*)" } },
  { change.replace, { "replace (.-) with (.-) in (%S.*)", "replace (.-) by (.-) in (%S.*)", "change (.-) to (.-) in (%S.*)",
      "change (.-) into (.-) in (%S.*)", "rename (.-) to (.-) in (%S.*)" } },
  { change.remove, { "remove (.-) from (%S+)", "delete (.-) from (%S+)" } },
  { change.append, { "append (.-) to (%S.*)", "add the line (.-) to (%S.*)", "add (.-) to the end of (%S.*)" } },
  { change.overwrite, { "overwrite (%S.-) with (.*)" } },
  { change.write_into, { "write (.-) to (%S+)", "write (.-) into (%S+)", "put (.-) into (%S+)", "save (.-) to (%S+)",
      "save (.-) as (%S+)" } },
  { change.create, { "create (%S.-) with (.+)", "create (%S.-) containing (.+)", "create (%S.-) that says (.+)",
      "create (%S.-) saying (.+)", "create (%S.-) that contains (.+)", "write (%S+) with (.+)", "make (%S.-) with (.+)",
      "make (%S.-) containing (.+)", "add a file (%S.-) with (.+)", "create (%S.-): (.+)" } },
  { change.create_empty, { "create an? empty file (%S.*)", "create the file (%S.*)", "create a file (%S.*)",
      "create file (%S.*)", "create (%S+%.%w+)", "touch (%S+)" } },

  { todo.show, { "show the todo list", "show todos", "show my todos", "todo list", "todos", "what is on the todo list",
      "what's on the todo list", "list the todos", "what is left to do" } },
  { todo.done, { "mark (.+) as done", "mark (.+) done", "check off (.+)", "(.+) is done" } },
  { todo.add, { "add (.+) to the todo list", "add (.+) to my todo list", "add (.+) to the todos", "add a todo:? (.+)",
      "todo:? (.+)" } },
  { todo.make, { "make a todo list:? (.+)", "make a todo list of (.+)", "create a todo list:? (.+)",
      "keep a todo list:? (.+)", "plan:? (.+)" } },

  { run.tests, { "run the tests?", "run all tests?", "run all the tests?", "run tests?", "run the test suite", "test it",
      "test this", "test the code", "do the tests pass", "execute the tests?", table.unpack(places("test ")) } },
  { run.build, { "build", "build it", "compile", "compile it", "run the build", "does it build", "does it compile",
      table.unpack(all(places("build "), places("compile "))) } },
  { run.command, { "run the command (.+)", "execute the command (.+)", "run:? (.+)", "execute:? (.+)", "%$ (.+)" } },

  { search.defined, { "where is (.+) defined", "where is (.+) declared", "where is (.+) implemented",
      "find the definition of (.+)", "find where (.+) is defined", "go to the definition of (.+)", "define (.+)",
      "where do we define (.+)", "which file defines (.+)", "show the definition of (.+)" } },
  { search.used, { "where is (.+) used", "where is (.+) called", "where is (.+) mentioned", "who calls (.+)", "who uses (.+)",
      "what uses (.+)", "what calls (.+)", "find uses of (.+)", "find all uses of (.+)", "find usages of (.+)",
      "find references to (.+)", "which files mention (.+)", "which files contain (.+)", "which files use (.+)",
      "what files contain (.+)" } },

  { look.count_lines, { "how many lines are in (.+)", "how many lines are there in (.+)", "how many lines does (.+) have",
      "how many lines has (.+)", "count the lines in (.+)", "count the lines of (.+)", "how long is (.+)" } },
  { look.count_files, { "how many (.-) ?files are there", "how many (.-) ?files are in .*", "how many (.-) ?files are there in .*",
      "how many (.-) ?files does .* have", "how many (.-) ?files", "count the (.-) ?files", "count (.-) ?files" } },
  { search.count, { "how many (.+) are there", "how many (.+) are in .*", "how many (.+) are there in .*",
      "how many times does (.+) occur", "how often does (.+) occur", "how many (.+) does .* have", "count the (.+)",
      "count (.+)", "how many (.+)" } },

  { look.named, { "find files? named (.+)", "find the files? named (.+)", "find the file (.+)", "find file (.+)",
      "where is the file (.+)", "is there a file named (.+)", "which files are named (.+)", "find files like (.+)",
      "where is (%S+%.%w+)", "find (%S*%*%S*)" } },
  { look.everything, { "list", "ls", "tree", "dir", "list everything", "what files are there", "show files" } },
  { look.list, { "list the (.-) ?files", "list all (.-) ?files", "list all the (.-) ?files", "list (.-) ?files",
      "show me the (.-) ?files", "show me all (.-) ?files", "show the (.-) ?files", "show all (.-) ?files", "show (.-) ?files",
      "find all (.-) ?files", "find the (.-) ?files", "find (.-) ?files", "what (.-) ?files are there", "which (.-) ?files are there",
      "what (.-) ?files are in .*", "which (.-) ?files are in .*", "what (.-) ?files are here",
      "list the (.-) ?files in .*", "list all (.-) ?files in .*" } },
  { look.list_in, { "list the contents of (%S+)", "list files in (%S+)", "what is in (%S+)/", "what's in (%S+)/", "ls (%S+)",
      "list (%S+/)", "what is in the (%S+) directory", "what is in the (%S+) folder", "what's in the (%S+) folder",
      "list the (%S+) directory", "list the (%S+) folder", "show the (%S+) directory" } },

  { overview.describe, all(places("what is in "), places("what's in "), places("what is "), places("explain "),
      places("describe "), places("summarize "), places("summarise "), places("what does ", " do"), places("give me an overview of "),
      places("an overview of "), places("tell me about "), places("what kind of project is "), places("look at "),
      places("show me "), places("what is ", " about"), places("how is ", " organized"), places("how is ", " organised"), places("how is ", " structured"),
      places("what is the structure of "), places("explore "), places("analyze "), places("analyse "), places("how does ", " work"),
      { "what is this", "what does this do", "what is here", "what's here", "overview", "give me an overview", "explain this",
        "describe this", "where am i", "what is going on here", "summarize", "summarise", "what is this about", "look around" }) },

  { search.find, { "find all occurrences of (.+)", "find occurrences of (.+)", "search the code for (.+)", "search for (.+)",
      "search (.+)", "grep for (.+)", "grep (.+)", "look for (.+)", "find the text (.+)", "find the word (.+)", "find all (.+)",
      "find every (.+)", "find any (.+)", "find (.+)", "are there any (.+)", "is there an? (.+)", "where is (.+)", "where are (.+)",
      "list the (.+)s", "list all (.+)s", "show all (.+)s" } },

  { show.explain, { "explain (.+)", "what does (.+) do", "what is in (.+)", "what's in (.+)", "summarize (.+)", "summarise (.+)",
      "describe (.+)", "outline (.+)", "what does (.+) contain", "what is (%S+%.%w+)", "tell me about (.+)" } },
  { show.lines, { "show lines? (%d+) to (%d+) of (.+)", "show lines? (%d+)%-(%d+) of (.+)", "read lines? (%d+) to (%d+) of (.+)",
      "read lines? (%d+)%-(%d+) of (.+)", "show lines? (%d+)–(%d+) of (.+)" } },
  { show.file, { "show me the contents? of (.+)", "show the contents? of (.+)", "show me the file (.+)", "show the file (.+)",
      "show me (.+)", "show (.+)", "read the file (.+)", "read me (.+)", "read (.+)", "cat (.+)", "open (.+)", "print (.+)",
      "display (.+)", "view (.+)", "look at (.+)", "see (.+)", "(%S+%.%w+)" } },
}

local function one(w, request)
  for _, rule in rules.TABLE do
    local task, patterns = rule[1], rule[2]
    local captures = phrase.match(request, patterns)
    if captures then
      return task(w, table.unpack(captures, 1, captures.n))
    end
  end
  return help.lost(phrase.plain(request))
end

--- The answer to a message: one request after the other.
function rules.answer(w, message)
  local requests = phrase.requests(message)
  if #requests == 0 then
    return help.greet(w)
  end
  local answers = {}
  for _, request in requests do
    table.insert(answers, one(w, request))
  end
  return table.concat(answers, "\n\n")
end

return rules
