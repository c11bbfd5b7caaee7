-- prefix, session, from, limit. { number of the first, records … }.
local first = tonumber(redis.call('HGET', ARGV[1] .. ':s:' .. ARGV[2], 'first') or '0')
local from, limit = math.max(tonumber(ARGV[3]), first), tonumber(ARGV[4])
if limit == 0 then return { string.format('%.0f', from), {} } end
local rows = redis.call('LRANGE', ARGV[1] .. ':r:' .. ARGV[2], from - first, from - first + limit - 1)
return { string.format('%.0f', from), rows }
