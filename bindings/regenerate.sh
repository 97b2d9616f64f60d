#!/usr/bin/env bash
# Regenerates src/main/java/io/fovea/bindings/generated with jextract.
#
# Needs jextract (for JDK 22 or later) on the PATH, liburing-dev, and Linux on x86-64.
# Only the names listed below are generated. Every listed function is exported by liburing 2.3 and later. Inline functions
# of liburing.h (get_sqe, prep_*, cqe_seen) cannot be bound; Ring implements them in Java.
set -euo pipefail
cd "$(dirname "$0")"

command -v jextract >/dev/null || {
  echo "regenerate.sh: jextract is not on the PATH" >&2
  exit 1
}

sources=src/main/java
package=io.fovea.bindings.generated
folder=$sources/${package//.//}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

includes() { # kind name...
  local kind=$1 name
  shift
  for name in "$@"; do printf -- '--include-%s %s\n' "$kind" "$name"; done
}

cat >"$work/uring.h" <<'H'
#include <liburing.h>
H
{
  includes function \
    io_uring_queue_init_params io_uring_queue_exit io_uring_ring_dontfork \
    io_uring_get_probe_ring io_uring_free_probe \
    io_uring_submit io_uring_submit_and_wait io_uring_submit_and_wait_timeout io_uring_get_events \
    io_uring_register_files io_uring_unregister_files io_uring_register_files_update \
    io_uring_register_buffers io_uring_unregister_buffers
  includes struct \
    io_uring io_uring_sq io_uring_cq io_uring_sqe io_uring_cqe io_uring_params \
    io_sqring_offsets io_cqring_offsets io_uring_probe io_uring_probe_op iovec __kernel_timespec
  includes constant \
    IORING_OP_NOP IORING_OP_FSYNC IORING_OP_READ_FIXED IORING_OP_WRITE_FIXED \
    IORING_OP_READ IORING_OP_WRITE IORING_OP_ASYNC_CANCEL \
    IORING_ASYNC_CANCEL_ALL IORING_ASYNC_CANCEL_ANY IORING_FSYNC_DATASYNC IOSQE_FIXED_FILE IOSQE_IO_LINK \
    IO_URING_OP_SUPPORTED \
    IORING_SETUP_CQSIZE IORING_SETUP_COOP_TASKRUN IORING_SETUP_TASKRUN_FLAG \
    IORING_SETUP_SINGLE_ISSUER IORING_SETUP_DEFER_TASKRUN \
    IORING_SQ_CQ_OVERFLOW IORING_SQ_TASKRUN IORING_FEAT_NODROP IORING_FEAT_EXT_ARG
} >"$work/uring.args"

cat >"$work/libc.h" <<'H'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>
H
{
  includes function \
    mmap munmap madvise mprotect memfd_create open close pread pwrite read write lseek \
    fdatasync fsync ftruncate fallocate flock getpid getpagesize getrlimit eventfd
  includes struct rlimit
  includes constant \
    O_RDONLY O_WRONLY O_RDWR O_CREAT O_EXCL O_TRUNC O_CLOEXEC O_DIRECT O_DSYNC O_DIRECTORY \
    O_TMPFILE SEEK_SET SEEK_CUR SEEK_END LOCK_SH LOCK_EX LOCK_NB LOCK_UN \
    FALLOC_FL_KEEP_SIZE FALLOC_FL_PUNCH_HOLE FALLOC_FL_ZERO_RANGE \
    PROT_NONE PROT_READ PROT_WRITE \
    MAP_SHARED MAP_PRIVATE MAP_ANONYMOUS MAP_NORESERVE MAP_FIXED MAP_POPULATE MAP_HUGETLB \
    MADV_NORMAL MADV_RANDOM MADV_SEQUENTIAL MADV_WILLNEED MADV_DONTNEED MADV_DONTFORK \
    MADV_HUGEPAGE MADV_NOHUGEPAGE MADV_DONTDUMP MADV_POPULATE_READ MADV_POPULATE_WRITE \
    MFD_CLOEXEC EFD_CLOEXEC EFD_NONBLOCK RLIMIT_MEMLOCK RLIMIT_NOFILE \
    EPERM ENOENT EINTR EIO ENXIO EBADF EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST EXDEV ENODEV \
    ENOTDIR EISDIR EINVAL ENFILE EMFILE ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE ERANGE \
    EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP EOVERFLOW EBADR EBADFD EUCLEAN EREMOTEIO EDQUOT \
    ENOMEDIUM EMEDIUMTYPE ECANCELED EOPNOTSUPP ETIME ETIMEDOUT ESTALE
} >"$work/libc.args"

mkdir -p "$work/out"
jextract --output "$work/out" -t "$package" --header-class-name LibUring \
  --library :liburing.so.2 "@$work/uring.args" "$work/uring.h"
jextract --output "$work/out" -t "$package" --header-class-name LibC "@$work/libc.args" "$work/libc.h"

# SymbolLookup.findOrThrow is from JDK 23; the sources must compile at release 22.
find "$work/out" -name '*.java' -exec \
  sed -i 's/\.findOrThrow(\("[^"]*"\))/.find(\1).orElseThrow()/g' {} +

rm -rf "$folder"
mkdir -p "$folder"
cp "$work/out/${package//.//}"/*.java "$folder/"
