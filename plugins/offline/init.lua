-- The protocol `offline`: a stand-in for a model that works by fixed rules, on this machine alone.
--
-- It keeps no state. Every call reads the conversation since the operator's last message, runs the matching task from
-- its start with the tool results that are there, and emits the first tool call that has none, or the final answer.

local conversation = require("conversation")
local rules = require("rules")
local work = require("work")

crystal.protocol({
  name = "offline",
  stream = function(request, emit)
    if request.purpose == "compaction" then
      emit.text(conversation.summary(request.items))
      return
    end
    local turn = conversation.turn(request)
    local step = work.step(turn, function(w)
      return rules.answer(w, turn.task)
    end)
    emit.text(step.text)
    for _, call in step.calls do
      emit.tool_call(call)
    end
  end,
})
