#!/usr/bin/env bash
# Runs a command in this checkout as on a machine where nothing was installed for Mercer: an empty home, none of the variables
# that name libraries or caches, and every BLAS, LAPACK, NVRTC and CUDA library of the system hidden (bind mounts in a mount
# namespace that ends with the command). What the command itself fetches into the checkout is found.
#   bash scripts/checks/fresh-machine.sh npm test
# Hiding needs Linux and the right to make a mount namespace (root, or user namespaces); without it the command runs with the
# system's libraries in sight, and the first line says so.
set -euo pipefail
[ $# -gt 0 ] || { echo 'usage: fresh-machine.sh COMMAND [ARGUMENTS...]' >&2; exit 2; }

home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
# How the package managers are configured belongs to the machine, not to what was installed on it.
for file in .npmrc .config/pip/pip.conf; do
  [ ! -f "${HOME:-/root}/$file" ] || install -D -m 600 "${HOME:-/root}/$file" "$home/$file"
done
export FRESH_HOME=$home

inside=$(cat <<'INSIDE'
set -euo pipefail
names='(openblas|blas|lapack|cblas|mkl|blis|flexiblas|flame|nvrtc|cuda|cublas|cusolver|nccl)'
hidden=0
if [ "$FRESH_HIDE" = yes ]; then
  while read -r library; do
    file=$(readlink -f "$library") || continue
    [ -f "$file" ] || continue
    mount --bind /dev/null "$file"
    hidden=$((hidden + 1))
  done < <({
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | sed -n 's/.*=> //p'
    find /usr/lib /usr/lib64 /usr/local -name '*.so*' 2>/dev/null
  } | grep -E "/lib${names}[^/]*\.so[^/]*$" | sort -u)
  echo "fresh machine: empty home, $hidden libraries hidden: $*"
else
  echo "fresh machine: empty home; this user may not hide the system's libraries: $*"
fi
unset MERCER_BLAS MERCER_CACHE_DIR MERCER_CUDA_HOME MERCER_CUDA_NVRTC_PATH CUDA_HOME CUDA_PATH CONDA_PREFIX VIRTUAL_ENV MKLROOT
unset XDG_CACHE_HOME PYTHONPATH LD_LIBRARY_PATH
export HOME=$FRESH_HOME
exec "$@"
INSIDE
)
hide=()
for options in '--mount --propagation private' '--mount --propagation private --map-root-user'; do
  # shellcheck disable=SC2086 # two options in one string
  if unshare $options mount --bind /dev/null /dev/null 2>/dev/null; then hide=(unshare $options); break; fi
done
if [ ${#hide[@]} -gt 0 ]; then
  FRESH_HIDE=yes "${hide[@]}" bash -c "$inside" fresh-machine "$@"
else
  FRESH_HIDE=no bash -c "$inside" fresh-machine "$@"
fi
