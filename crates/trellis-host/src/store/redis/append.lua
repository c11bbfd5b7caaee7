-- prefix, session, expected, next, head, graph, place in `newest`, place in `due` or '', whether there is a snapshot, snapshot, records …
-- '' where it was appended, else what comes next.
local prefix, id, expected, next, head, graph = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local session, records = prefix .. ':s:' .. id, prefix .. ':r:' .. id
local kept = redis.call('HMGET', session, 'next', 'graph', 'newest', 'due')
local found = kept[1] or '0'
if found ~= expected then return found end

for at = 11, #ARGV do redis.call('RPUSH', records, ARGV[at]) end
redis.call('HSET', session, 'next', next, 'head', head, 'graph', graph, 'newest', ARGV[7], 'due', ARGV[8])
if ARGV[9] == '1' then redis.call('HSET', session, 'snapshot', ARGV[10], 'held', next) end

local function move(list, old, new)
    if old == new and kept[2] == graph then return end
    if old and old ~= '' then
        redis.call('ZREM', prefix .. list, old)
        redis.call('ZREM', prefix .. list .. ':' .. kept[2], old)
    end
    if new ~= '' then
        redis.call('ZADD', prefix .. list, 0, new)
        redis.call('ZADD', prefix .. list .. ':' .. graph, 0, new)
    end
end
move(':newest', kept[3], ARGV[7])
move(':due', kept[4], ARGV[8])
return ''
