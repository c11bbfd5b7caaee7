-- prefix, format. The format of what is there; an empty place gets ours.
local key = ARGV[1] .. ':format'
redis.call('SETNX', key, ARGV[2])
return redis.call('GET', key)
