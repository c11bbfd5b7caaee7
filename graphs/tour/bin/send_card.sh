#!/bin/sh
# Would send a card. This one only says so.
echo '{"sent": true}'
