-- Reads a request: the task at hand, and the tool results that belong to it.

local text = require("crystal.text")

local conversation = {}

--- The operator's last message, the results since, in the order of their calls, and the tools on offer.
function conversation.turn(request)
  local items = request.items
  local start, task = 0, ""
  for place = #items, 1, -1 do
    local item = items[place]
    if item.kind == "user" and text.trim(item.text) ~= "" then
      start, task = place, item.text
      break
    end
  end
  local calls, results = {}, {}
  for place = start + 1, #items do
    local item = items[place]
    if item.kind == "tool_call" then
      table.insert(calls, item.tool_call.id)
    elseif item.kind == "tool_result" then
      results[item.call_id] = { text = item.text, failed = item.failed == true }
    end
  end
  local steps = {}
  for _, id in calls do
    table.insert(steps, results[id] or { text = "the call has no result", failed = true })
  end
  local offered = {}
  for _, tool in request.tools do
    offered[tool.name] = true
  end
  return { task = task, steps = steps, offered = offered, purpose = request.purpose }
end

--- What was asked and which files were touched, for a conversation that has to be shortened.
function conversation.summary(items)
  local lines = { "What the operator asked so far:" }
  local files, seen = {}, {}
  for _, item in items do
    if item.kind == "user" then
      table.insert(lines, "- " .. text.cut(text.trim(item.text):gsub("%s+", " "), 200))
    elseif item.kind == "tool_call" then
      local path = item.tool_call.arguments.path
      if type(path) == "string" and path ~= "." and not seen[path] then
        seen[path] = true
        table.insert(files, path)
      end
    end
  end
  if #files > 0 then
    table.insert(lines, "Files that tools were used on: " .. table.concat(files, ", "))
  end
  return table.concat(lines, "\n")
end

return conversation
