package io.fovea.config;

/**
 * How the buffer pool finds the frame of a page.
 *
 * @since 0.1.0
 */
public enum Translation {
  /**
   * Computes the frame from the page id and checks it; a table is consulted only if the prediction
   * is wrong. The default.
   */
  PREDICTIVE,
  /**
   * Predictive translation with hashed positions that consults the table first, as in the paper.
   */
  PREDICTIVE_HASHED,
  /** An optimistically read table, without prediction. A baseline. */
  OPTIMISTIC,
  /**
   * Like {@link #OPTIMISTIC}, but the first page of a bucket is stored outside the bucket, which
   * costs one more cache miss. A baseline.
   */
  OPTIMISTIC_CHAINED,
  /**
   * Pointers: a reference from an inner node to a child in memory names its frame and is trusted,
   * so a descent looks nothing up. Before a page is evicted, the pointer to it is removed. A
   * baseline, after Graefe et al., "In-Memory Performance for Big Data" (PVLDB 8, 2014); as fast as
   * {@link #PREDICTIVE} if all data is in memory. Without {@link io.fovea.Hints#frames} no
   * reference names a frame, and this is {@link #OPTIMISTIC_CHAINED}.
   */
  SWIZZLED,
  /** A table behind latches, as in traditional buffer managers. A baseline. */
  LATCHED,
  /**
   * The operating system's page table: every page of the file has its own address, but has memory
   * only while it is in the buffer. A baseline, after vmcache (Leis et al., SIGMOD 2023).
   *
   * <p>If the data is in memory, this costs the same as {@link #PREDICTIVE} with 4 KiB entries of
   * the processor's page table. If the data is larger than the buffer, each page read costs a page
   * fault, and evictions cost a system call that interrupts all cores: one call for up to 32 pages
   * where Linux accepts many ranges per call (since 6.13; since 6.16 with one interrupt for all of
   * them), otherwise one call per page.
   *
   * <p>Each page of the file takes 72 bytes of the buffer, whether the page is in memory or not.
   * With pages of 4 KiB and a buffer a fifth the size of the file, that is 9 % of the buffer. So
   * the buffer limits the file to about 50 times its size; a transaction that would exceed that
   * fails with {@link io.fovea.error.StorageFullException}, as on a full disk. See also {@link
   * io.fovea.ExperimentOptions#fileBytesMax}.
   *
   * <p>Opening fails with an {@link io.fovea.error.InvalidUseException} if the JVM denies native
   * access; if the system does not provide enough address space ({@code ulimit -v}, {@code
   * vm.overcommit_memory=2}) or cannot release memory ({@code mlockall}, memory pages larger than
   * the database's); if a {@link io.fovea.BufferShare} is used; or if the file is too large. {@link
   * Pretouch} is ignored.
   */
  VIRTUAL,
  /**
   * No translation: all pages are read at opening and never evicted. A baseline: the cost of an
   * engine without buffer management, under the same trees, transactions and log.
   *
   * <p>The buffer must hold the whole file, plus about 80 bytes for each page. Opening a file that
   * is too large fails with an {@link io.fovea.error.InvalidUseException}, and a transaction that
   * would make it too large fails with {@link io.fovea.error.StorageFullException}, as on a full
   * disk. Opening reads the whole file, and reports any corrupt page with {@link
   * io.fovea.error.CorruptionException}. Cannot be used with a {@link io.fovea.BufferShare}.
   */
  DIRECT
}
