-- Runs a task as a plain function that calls tools, though each call of the model sees only what has happened so far:
-- the function runs as a coroutine from the start, is fed the results that are there, and stops at the first one missing.

local kit = require("kit")

local work = {}

--- Most tool calls of one task.
local MOST = 40

--- Said at the end of every answer.
work.FOOTER = "\n\n(offline: fixed rules on this machine, not a language model)"

local Worker = {}
Worker.__index = Worker

--- Whether the model may call a tool now.
function Worker.offers(self, name)
  return self.turn.offered[name] == true
end

--- Calls one tool and returns its result, `{ text, failed }`. `why` is said to the operator before the call.
function Worker.use(self, why, name, arguments)
  return self:use_all(why, { { name = name, arguments = arguments } })[1]
end

--- Calls several tools at once and returns their results in order.
function Worker.use_all(self, why, calls)
  for _, call in calls do
    if not self:offers(call.name) then
      error({ answer = kit.missing_tool(call.name, self.turn) })
    end
  end
  if self.used + #calls > MOST then
    error({ answer = "This took more than " .. MOST .. " tool calls, so I stopped." })
  end
  local results = {}
  for place, _ in calls do
    results[place] = self.turn.steps[self.used + place]
  end
  if results[1] == nil then
    return coroutine.yield({ text = why, calls = calls })
  end
  for place, _ in calls do
    results[place] = results[place] or { text = "the call has no result", failed = true }
  end
  self.used += #calls
  return results
end

--- What comes next: text and tool calls, or text alone, which ends the turn.
function work.step(turn, task)
  local worker = setmetatable({ turn = turn, used = 0 }, Worker)
  local thread = coroutine.create(function()
    return { text = task(worker) .. work.FOOTER, calls = {} }
  end)
  local fine, step = coroutine.resume(thread)
  if fine then
    return step
  end
  if type(step) == "table" and step.answer then
    return { text = step.answer .. work.FOOTER, calls = {} }
  end
  error(step, 0)
end

return work
