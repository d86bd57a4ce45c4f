-- merchant.lua from clients that think between an answer and the next request (THINK_MS on average), with what became of
-- the requests by status. A request's id is the microsecond it was sent in: the answer brings it back.
dofile(os.getenv("SCRIPTS") .. "/merchant.lua")
local ffi = require("ffi")
ffi.cdef [[
  typedef struct { long seconds; long nanoseconds; } moment;
  int clock_gettime(int clock, moment *now);
]]
local moment = ffi.new("moment[1]")
function now_us()
  ffi.C.clock_gettime(1, moment)
  return tonumber(moment[0].seconds) * 1e6 + math.floor(tonumber(moment[0].nanoseconds) / 1e3)
end

local think_ms = tonumber(os.getenv("THINK_MS") or "0")
-- Timers cost wrk a good deal: there are none when nobody thinks.
if think_ms > 0 then
  function delay()
    return math.random(0, math.floor(2 * think_ms))
  end
end

local plain_request = request
local sent = 0
-- A request that was due at this microsecond: its time until the answer begins then.
function request_due(at_us)
  sent = sent + 1
  headers["x-request-id"] = string.format("%.0f-%d-%d", at_us, id, sent)
  return plain_request()
end

function request()
  return request_due(now_us())
end

-- Latencies are counted in steps of five percent. Every count is a global of its own: wrk's thread:get does not survive
-- tables in tables.
local step = math.log(1.05)
local steps = 400
local function count(name)
  _G[name] = (_G[name] or 0) + 1
end

function response(status, answered)
  count("status_" .. status)
  if answered["retry-after"] == nil then count("without_retry_after_" .. status) end
  local sent_us = tonumber(string.match(answered["x-request-id"] or "", "^%d+"))
  if sent_us ~= nil then
    local at = math.floor(math.log(math.max(1, now_us() - sent_us)) / step)
    count("step_" .. status .. "_" .. math.min(at, steps))
  end
end

local all_threads = {}
local plain_setup = setup
function setup(thread)
  plain_setup(thread)
  table.insert(all_threads, thread)
end

local function total(name)
  local sum = 0
  for _, thread in ipairs(all_threads) do sum = sum + (thread:get(name) or 0) end
  return sum
end

local function percentiles_ms(status, ...)
  local counts, all, found = {}, 0, {}
  for at = 0, steps do
    counts[at] = total("step_" .. status .. "_" .. at)
    all = all + counts[at]
  end
  for _, part in ipairs({ ... }) do
    local seen = 0
    for at = 0, steps do
      seen = seen + counts[at]
      if seen > 0 and seen >= all * part then
        table.insert(found, math.exp((at + 0.5) * step) / 1e3)
        break
      end
    end
  end
  return found[1] or 0, found[2] or 0, found[3] or 0
end

local plain_done = done
function done(summary, latency)
  plain_done(summary, latency)
  local lines = {}
  for status = 100, 599 do
    local answers = total("status_" .. status)
    if answers > 0 then
      table.insert(lines, string.format('{"status":%d,"count":%d,"without_retry_after":%d,"p50_ms":%.3f,"p99_ms":%.3f,"p999_ms":%.3f}',
        status, answers, total("without_retry_after_" .. status), percentiles_ms(status, 0.5, 0.99, 0.999)))
    end
  end
  io.write("STATUSES [" .. table.concat(lines, ",") .. "]\n")
end
