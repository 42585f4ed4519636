# For the scripts beside it: what this machine has.
have() { command -v "$1" > /dev/null || [ -e "/usr/include/$1" ]; }  # a tool or a header

can() {  # can TOOL WHAT: whether a part can run here
  have "$1" && return 0
  echo "engine: no $1 here, so $2 was not tested" >&2
  [ -z "${CI:-}" ] || exit 1
  return 1
}
