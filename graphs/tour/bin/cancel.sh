#!/bin/sh
# Takes a booking back. Arguments: {"what": "train", "number": 12}.
echo '{"cancelled": true}'
