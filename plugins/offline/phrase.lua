-- Plain English requests: quoted parts are set aside, politeness is dropped, words match in any case.

local text = require("crystal.text")

local phrase = {}

local OPEN, CLOSE = "\1", "\2"

--- Sets aside what stands in single quotes. An apostrophe inside a word is none: a quote opens after a space or a
--- bracket and closes before a space, a mark or the end.
local function single(s, keep)
  local place = 1
  while true do
    local open = s:find("'", place, true)
    if not open then
      return s
    end
    local finish = nil
    if open == 1 or s:sub(open - 1, open - 1):match("[%s%(]") then
      local close = s:find("'", open + 1, true)
      while close and not finish do
        if s:sub(close + 1, close + 1):match("^[%s%p]?$") then
          finish = close
        else
          close = s:find("'", close + 1, true)
        end
      end
    end
    if finish then
      local token = keep(s:sub(open + 1, finish - 1))
      s = s:sub(1, open - 1) .. token .. s:sub(finish + 1)
      place = open + #token
    else
      place = open + 1
    end
  end
end

--- Replaces each quoted part by a token, so that what is in it cannot be mistaken for words of the request.
local function mask(s)
  local kept = {}
  local function keep(inner)
    table.insert(kept, inner)
    return OPEN .. #kept .. CLOSE
  end
  s = s:gsub("```[^\n`]*\n(.-)\n?```", keep)
  s = s:gsub("`([^`]+)`", keep)
  s = s:gsub('"([^"]*)"', keep)
  s = s:gsub("“(.-)”", keep)
  return single(s, keep), kept
end

--- A captured part as it was meant: the inside of a quote, or the words with quotes back in.
local function unmask(part, kept)
  local whole = part:match("^" .. OPEN .. "(%d+)" .. CLOSE .. "$")
  if whole then
    return kept[tonumber(whole)]
  end
  return (part:gsub(OPEN .. "(%d+)" .. CLOSE, function(number)
    return kept[tonumber(number)]
  end))
end

--- Patterns that were made ready before.
local ready = {}

--- A pattern whose letters match in any case. Letters after `%` keep their meaning; sets may hold no letters.
local function any_case(pattern)
  if ready[pattern] then
    return ready[pattern]
  end
  local out, place = {}, 1
  while place <= #pattern do
    local c = pattern:sub(place, place)
    if c == "%" then
      table.insert(out, pattern:sub(place, place + 1))
      place += 1
    elseif c:match("%a") then
      table.insert(out, "[" .. c:lower() .. c:upper() .. "]")
    else
      table.insert(out, c)
    end
    place += 1
  end
  ready[pattern] = table.concat(out)
  return ready[pattern]
end

local POLITE_START = {
  "please", "can you", "could you", "would you", "will you", "can i", "i want you to", "i would like you to",
  "i'd like you to", "i want to", "i'd like to", "let's", "let us", "now", "then", "and", "also", "so", "ok", "okay",
  "hey", "crystal", "just", "first", "next", "finally", "go ahead and", "try to", "help me", "kindly",
}

local POLITE_END = { "please", "for me", "thanks", "thank you", "now", "again" }

--- Drops politeness and closing marks.
local function bare(s)
  s = text.trim(s:gsub("%s+", " "))
  local before
  repeat
    before = s
    s = text.trim((s:gsub("[%s%.%?!,;:]+$", "")))
    for _, word in POLITE_START do
      local rest = s:match("^" .. any_case(word:gsub("%p", "%%%0")) .. "[%s,:]+(.+)$")
      s = rest or s
    end
    for _, word in POLITE_END do
      local rest = s:match("^(.-)[%s,]+" .. any_case(word) .. "$")
      if rest and rest ~= "" then
        s = rest
      end
    end
  until s == before
  return s
end

local BETWEEN = { "%s*[;\n]+%s*", "[%.,]?%s+and then%s+", "[%.,]%s+then%s+", "%.%s+after that,?%s+", "[%.!%?]%s+%f[%u]" }

--- The requests in a message, each ready for `match`.
function phrase.requests(message)
  local masked, kept = mask(message)
  for _, pattern in BETWEEN do
    masked = masked:gsub(any_case(pattern), "\3")
  end
  local requests = {}
  for _, part in masked:split("\3") do
    local words = bare(part)
    if words ~= "" then
      table.insert(requests, { words = words, kept = kept })
    end
  end
  return requests
end

--- The captures of the first pattern that fits a whole request, quotes resolved, or nil.
function phrase.match(request, patterns)
  for _, pattern in patterns do
    local captures = table.pack(request.words:match("^" .. any_case(pattern) .. "$"))
    if captures[1] ~= nil then
      for place = 1, captures.n do
        -- What stands in quotes keeps its spaces.
        captures[place] = unmask(text.trim(captures[place]), request.kept)
      end
      return captures
    end
  end
  return nil
end

--- The same request in the operator's words.
function phrase.plain(request)
  return unmask(request.words, request.kept)
end

return phrase
