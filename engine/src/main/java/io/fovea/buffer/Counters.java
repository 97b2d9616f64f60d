package io.fovea.buffer;

import java.util.concurrent.atomic.LongAdder;

/** Striped counters of the slow path, where ten nanoseconds do not matter. */
final class Counters {
  final LongAdder misses = new LongAdder();
  final LongAdder preferredFrameSlowHits = new LongAdder();
  final LongAdder slowElsewhere = new LongAdder();
  final LongAdder promotions = new LongAdder();
  final LongAdder demotions = new LongAdder();
  final LongAdder evictionsClean = new LongAdder();
  final LongAdder evictionsDirty = new LongAdder();
  final LongAdder pagesWritten = new LongAdder();
  final LongAdder batchesWritten = new LongAdder();
  final LongAdder framesTaken = new LongAdder();
  final LongAdder frameWaits = new LongAdder();
  final LongAdder frameWaitNanos = new LongAdder();
  final LongAdder latchWaits = new LongAdder();
  final LongAdder readFailures = new LongAdder();
  final LongAdder writeFailures = new LongAdder();
  final LongAdder hintsNone = new LongAdder();
  final LongAdder hintsStale = new LongAdder();
  final LongAdder hintRepairs = new LongAdder();
  final LongAdder hintRepairsAbandoned = new LongAdder();

  /** SWIZZLED: references cleared so that the page could leave. */
  final LongAdder unswizzled = new LongAdder();

  /** SWIZZLED: victims that stayed because of a child, or because of their parent's latch. */
  final LongAdder retainedForChildren = new LongAdder();

  final LongAdder retainedForParent = new LongAdder();

  /** VIRTUAL: pages whose memory was returned to the system, and the system calls for it. */
  final LongAdder pagesDiscarded = new LongAdder();

  final LongAdder discardCalls = new LongAdder();

  /**
   * Frames whose page is newer than the file's copy; updated with each change of the dirty flag.
   */
  final LongAdder dirty = new LongAdder();
}
