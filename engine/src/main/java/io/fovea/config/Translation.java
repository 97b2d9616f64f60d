package io.fovea.config;

/**
 * How the buffer pool finds the frame of a page.
 *
 * @since 0.1.0
 */
public enum Translation {
  /**
   * The frame is computed from the page id and checked; a table only helps where the prediction is
   * wrong. The default.
   */
  PREDICTIVE,
  /** Predictive translation with hashed positions and the table asked first, as in the paper. */
  PREDICTIVE_HASHED,
  /** A table, read optimistically, without a prediction. A baseline. */
  OPTIMISTIC,
  /** The same without the first page of a bucket beside the bucket: one more wait. A baseline. */
  OPTIMISTIC_CHAINED,
  /**
   * Pointers: a reference from an inner node to a child that is in memory names its frame and is
   * believed, so that a descent looks nothing up and compares nothing. A page takes the pointer to
   * it back before it leaves. A baseline, after Graefe et al., "In-Memory Performance for Big Data"
   * (PVLDB 8, 2014); as fast as {@link #PREDICTIVE} where all data is in memory. Without {@link
   * io.fovea.Hints#frames} no reference names a frame, and this is {@link #OPTIMISTIC_CHAINED}.
   */
  SWIZZLED,
  /** A table behind latches, as in traditional buffer managers. A baseline. */
  LATCHED,
  /**
   * The operating system's page table: every page of the file has an address of its own, and memory
   * only while it is in the buffer. A baseline, after vmcache (Leis et al., SIGMOD 2023).
   *
   * <p>In memory it costs what {@link #PREDICTIVE} costs with pages of 4 KiB of the processor's own
   * page table. Where the data is larger than the buffer, each page that comes costs a page fault.
   * Pages that leave cost a system call that interrupts all cores: up to 32 of them one call, where
   * Linux takes many ranges with one (6.13; one interrupt for all since 6.16), else one each.
   *
   * <p>72 bytes for each page of the file are taken from the buffer, whether the page is in memory
   * or not: 9 % of a buffer that is a fifth of a file with pages of 4 KiB. So the buffer bounds the
   * file, at about 50 times its size with pages of 4 KiB; a transaction that would make the file
   * larger gets {@link io.fovea.error.StorageFullException}, as on a full disk. See also {@link
   * io.fovea.ExperimentOptions#fileBytesMax}.
   *
   * <p>Opening is refused with an {@link io.fovea.error.InvalidUseException} that says why: without
   * native access; where the system does not give so many addresses ({@code ulimit -v}, {@code
   * vm.overcommit_memory=2}) or does not take memory back ({@code mlockall}, memory pages that are
   * larger than the database's); with a {@link io.fovea.BufferShare}; for a file that is too large.
   * {@link Pretouch} is ignored.
   */
  VIRTUAL,
  /**
   * No translation: all pages are read when the file is opened, and none leaves. A baseline: what
   * an engine costs that has no buffer to manage, under the same trees, transactions and log.
   *
   * <p>The buffer has to have room for the file, with some 80 bytes beside each page: a file that
   * is too large already is refused with an {@link io.fovea.error.InvalidUseException}, and a
   * transaction that would make it too large gets {@link io.fovea.error.StorageFullException}, as
   * on a full disk. Opening takes as long as reading all of the file, and reports a damaged page,
   * even one that nobody has asked for, with {@link io.fovea.error.CorruptionException}. It can't
   * be used with a {@link io.fovea.BufferShare}.
   */
  DIRECT
}
