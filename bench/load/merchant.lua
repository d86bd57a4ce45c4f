-- What wrk sends, chosen by the environment: SCENARIO is register, verify, direct or mixed. Every order_number and phone
-- is used once; verify asks for any of those that were seeded, from SEEDED_FROM on. PREFIX is S for ended ones and P for pending ones.
local scenario = os.getenv("SCENARIO")
local key = os.getenv("API_KEY")
local run = os.getenv("RUN")
local seeded = tonumber(os.getenv("SEEDED") or "0")
local seeded_from = tonumber(os.getenv("SEEDED_FROM") or "1")
local prefix = os.getenv("PREFIX") or "S"
local phone_base = tonumber(os.getenv("PHONE_BASE") or "0")

local threads = 0
function setup(thread)
  thread:set("id", threads)
  threads = threads + 1
end

headers = { ["apiKey"] = key, ["content-type"] = "application/json" }
local count = 0

function init()
  math.randomseed(tonumber(run) * 2 + id)
end

local function register()
  return wrk.format("POST", "/api/v1/register", headers,
    '{"order_number":"B' .. run .. "-" .. id .. "-" .. count .. '","return_url":"https://shop.example/return",'
    .. '"webhook_url":"https://shop.example/hook","amount":"100.50","currency":"ETB",'
    .. '"reason":"Two pairs of shoes","customer_phone":"0911223344"}')
end

local function verify()
  return wrk.format("POST", "/api/v1/verify", headers,
    string.format('{"order_number":"%s-%08d"}', prefix, math.random(seeded_from, seeded)))
end

local function direct()
  local phone = string.format("+2519%08d", (phone_base + count * 2 + id) % 100000000)
  return wrk.format("POST", "/api/v1/direct?payment_option=walletb_ussd", headers,
    '{"order_number":"D' .. run .. "-" .. id .. "-" .. count .. '","amount":"100.50","currency":"ETB","phone":"' .. phone .. '"}')
end

function request()
  count = count + 1
  if scenario == "register" then return register() end
  if scenario == "verify" then return verify() end
  if scenario == "direct" then return direct() end
  if count % 4 == 0 then return register() end
  return verify()
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"seconds":%.6f,"p50_ms":%.3f,"p99_ms":%.3f,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
