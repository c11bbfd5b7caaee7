#!/bin/sh
# Books one thing. Arguments: {"what": "train", "season": "summer"}. Result: {"number": 12}. In summer the museum is full.
case $TRELLIS_ARGS in
*'"museum"'*)
    case $TRELLIS_ARGS in
    *'"summer"'*)
        echo "the museum is full in summer" >&2
        exit 1
        ;;
    esac
    number=40
    ;;
*'"train"'*) number=12 ;;
*'"hotel"'*) number=7 ;;
*) number=3 ;;
esac
printf '{"number": %s}\n' "$number"
