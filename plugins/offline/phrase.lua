-- Plain English requests: quoted parts are set aside, politeness is dropped, words match in any case.

local text = require("crystal.text")

local phrase = {}

local OPEN, CLOSE = "\1", "\2"

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
  -- An apostrophe inside a word is none of these quotes.
  s = (" " .. s .. " "):gsub("([%s%(])'([^'\n]*)'(%f[%s%p])", function(before, inner, after)
    return before .. keep(inner) .. after
  end)
  return s, kept
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
        captures[place] = text.trim(unmask(captures[place], request.kept))
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
