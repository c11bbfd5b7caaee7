-- prefix, session, expected or '', before. '' where it was taken out or was not there, else what comes next.
local prefix, id, expected = ARGV[1], ARGV[2], ARGV[3]
local session, records = prefix .. ':s:' .. id, prefix .. ':r:' .. id
local kept = redis.call('HMGET', session, 'next', 'graph', 'newest', 'due', 'held', 'first')
if not kept[1] then return '' end
if expected == '' then
    local first = tonumber(kept[6] or '0')
    local cut = math.min(tonumber(ARGV[4]), tonumber(kept[5] or '0'))
    if cut > first then
        redis.call('LTRIM', records, cut - first, -1)
        redis.call('HSET', session, 'first', string.format('%.0f', cut))
    end
    return ''
end
if kept[1] ~= expected then return kept[1] end
redis.call('DEL', session, records)
for list, place in pairs({ [':newest'] = kept[3], [':due'] = kept[4] }) do
    redis.call('ZREM', prefix .. list, place)
    redis.call('ZREM', prefix .. list .. ':' .. kept[2], place)
end
return ''
