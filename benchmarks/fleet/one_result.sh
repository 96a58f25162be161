# The five machines with the least bandwidth of all CPUs, from the records of a folder.
# Call: sh one_result.sh FOLDER PROCESSES
filter='[input_filename, (.digest.results.areas.memory.triad.bandwidth.rows[].cells[] | select(.active == 112).median)] | @tsv'
if [ "$2" = 1 ]; then
    jq -r "$filter" "$1"/*.json
else
    # Lines of both would be torn where buffers end.
    printf '%s\0' "$1"/*.json | xargs -0 -n 256 -P "$2" jq --unbuffered -r "$filter"
fi | sort -t "$(printf '\t')" -k 2 -g | head -n 5
