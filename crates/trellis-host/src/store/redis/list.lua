-- prefix, list, from, to, limit. { place, head, place, head … }; a place in a list is 16 digits, a colon and the session.
local answer = {}
for _, place in ipairs(redis.call('ZRANGEBYLEX', ARGV[1] .. ARGV[2], ARGV[3], ARGV[4], 'LIMIT', 0, ARGV[5])) do
    answer[#answer + 1] = place
    answer[#answer + 1] = redis.call('HGET', ARGV[1] .. ':s:' .. string.sub(place, 18), 'head') or ''
end
return answer
