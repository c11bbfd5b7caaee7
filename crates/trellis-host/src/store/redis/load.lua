-- prefix, sessions … Of each: nothing, or { head, snapshot, held, number of the first record that follows, records … }.
local prefix, answer = ARGV[1], {}
for at = 2, #ARGV do
    local session = prefix .. ':s:' .. ARGV[at]
    local kept = redis.call('HMGET', session, 'head', 'snapshot', 'held', 'first')
    if not kept[1] then
        answer[at - 1] = false
    else
        local held, first = tonumber(kept[3] or '0'), tonumber(kept[4] or '0')
        local from = math.max(held, first)
        local rows = redis.call('LRANGE', prefix .. ':r:' .. ARGV[at], from - first, -1)
        answer[at - 1] = { kept[1], kept[2] or '', kept[3] or '', string.format('%.0f', from), rows }
    end
end
return answer
