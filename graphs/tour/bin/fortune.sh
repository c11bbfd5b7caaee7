#!/bin/sh
# Tells a fortune for a number. Arguments: {"number": 7}. Result: {"text": "…"}.
number=$(printf '%s' "$TRELLIS_ARGS" | sed -n 's/.*"number": *\([0-9]*\).*/\1/p')
case $((${number:-0} % 4)) in
0) text="You will find what you lost, in the pocket where you looked first." ;;
1) text="A letter will arrive. It is not a bill." ;;
2) text="Somebody will ask you for the way, and you will know it." ;;
*) text="The next tea will be better than the last one." ;;
esac
printf '{"text": "%s"}\n' "$text"
