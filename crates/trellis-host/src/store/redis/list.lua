-- prefix, list, from, to, limit. { session, head, session, head … }; a place in a list is 16 digits, a colon and the session.
local answer = {}
for _, place in ipairs(redis.call('ZRANGEBYLEX', ARGV[1] .. ARGV[2], ARGV[3], ARGV[4], 'LIMIT', 0, ARGV[5])) do
    local id = string.sub(place, 18)
    answer[#answer + 1] = id
    answer[#answer + 1] = redis.call('HGET', ARGV[1] .. ':s:' .. id, 'head') or ''
end
return answer
