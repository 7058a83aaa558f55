-- Small functions on text. The Rhai module of the same name has the same ones.

local text = {}

--- The text without white space at both ends.
function text.trim(s: string): string
  return (s:match("^%s*(.-)%s*$"))
end

--- The lines of a text, without their ends. A last empty line does not count.
function text.lines(s: string): { string }
  local lines = s:gsub("\r\n", "\n"):split("\n")
  if lines[#lines] == "" then
    table.remove(lines)
  end
  return lines
end

--- The words of a text: what white space separates.
function text.words(s: string): { string }
  local words = {}
  for word in s:gmatch("%S+") do
    table.insert(words, word)
  end
  return words
end

--- Whether a text begins with another.
function text.starts_with(s: string, start: string): boolean
  return s:sub(1, #start) == start
end

--- Whether a text ends with another.
function text.ends_with(s: string, ending: string): boolean
  return #ending == 0 or s:sub(-#ending) == ending
end

--- Whether a text holds another, taken literally.
function text.contains(s: string, part: string): boolean
  return s:find(part, 1, true) ~= nil
end

--- A text with every occurrence of another replaced, taken literally.
function text.replace(s: string, from: string, to: string): string
  if from == "" then
    return s
  end
  return table.concat(s:split(from), to)
end

--- The first `count` characters of a text, and `…` if that left some out.
function text.cut(s: string, count: number): string
  local stop = utf8.offset(s, count + 1)
  if stop == nil or stop > #s then
    return s
  end
  return s:sub(1, stop - 1) .. "…"
end

return text
