-- merchant.lua at a steady rate, whatever the answers take: PER_SECOND requests a second and thread arrive at random moments, as
-- independent customers do. A request's id is the microsecond in which it was due, so waiting for a free connection counts.
dofile(os.getenv("SCRIPTS") .. "/overload.lua")

local gap_us = 1e6 / tonumber(os.getenv("PER_SECOND"))
local due_us = 0
local waiting, first, last = {}, 1, 0

local function next_due_us(now)
  if due_us == 0 then due_us = now end
  due_us = due_us - math.log(1 - math.random()) * gap_us
  return due_us
end

function delay()
  local now = now_us()
  local at = next_due_us(now)
  last = last + 1
  waiting[last] = at
  return math.max(0, math.floor((at - now) / 1e3))
end

function request()
  local now = now_us()
  -- Delays are whole milliseconds, so a request may be sent up to a millisecond early.
  local at = math.min(now, waiting[first] or now)
  waiting[first] = nil
  first = math.min(first + 1, last + 1)
  return request_due(at)
end
