#!/bin/sh
# Crosses the bridge. Arguments: {"road": "left"} or {"road": "right"}. The right road ends as an error.
case $TRELLIS_ARGS in
*'"right"'*)
    echo "the bridge on the right road is broken" >&2
    exit 1
    ;;
*) echo '{"crossed": true}' ;;
esac
