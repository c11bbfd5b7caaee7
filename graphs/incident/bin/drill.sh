# Read by the other scripts: the service that the arguments name, and the file that marks its previous version as deployed.
service=$(printf '%s' "$TRELLIS_ARGS" | sed -n 's/.*"service": *"\([a-z]*\)".*/\1/p')
mark=${TMPDIR:-/tmp}/trellis-drill-$service
