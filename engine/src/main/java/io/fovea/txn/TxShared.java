package io.fovea.txn;

import io.fovea.memory.Blocks;
import io.fovea.memory.Waits;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What all transactions of one engine share. {@link TxEngine} makes it and is above it: no
 * transaction knows more of its engine than this, but for the end, which it tells the engine.
 */
final class TxShared {
  final TxConfig config;

  /** Of the trees that transactions use, in bytes. */
  final int pageSize;

  final EngineHealth health;
  final Timestamps timestamps;
  final ProtocolMemory protocolMemory;
  final Reservations reservations = new Reservations();

  final UpdateLocks updateLocks = new UpdateLocks();

  /** Where commits pass, so that snapshots find a moment between them. */
  final CommitGate gate;

  /** Up to when whole leaves were read. */
  final ScanMarks marks = new ScanMarks();

  final Blocks memory = new Blocks("working memory of transactions");

  /** Whether transactions that only read wait for what they read. */
  final boolean waits;

  private final @Nullable Log log;
  private final Consumer<Waits.Check> admission;
  private Runnable idlePages = () -> {};

  TxShared(
      TxConfig config,
      int pageSize,
      @Nullable Log log,
      Consumer<Waits.Check> admission,
      @Nullable TimestampPages pages,
      EngineHealth health,
      boolean waits) {
    this.config = config;
    this.pageSize = pageSize;
    this.log = log;
    this.admission = admission;
    this.health = health;
    this.waits = waits;
    this.gate = new CommitGate(config.contexts());
    this.timestamps = new Timestamps(config.contexts(), config.timestamps(), pages);
    this.protocolMemory = new ProtocolMemory(config.protocol(), config.protocolBytes());
  }

  /** Says what gives back pages that idle contexts keep. Before any transaction begins. */
  void onWantOfPages(Runnable release) {
    idlePages = release;
  }

  /** Gives back the pages of the file that idle contexts keep for their next commits. */
  void releaseIdlePages() {
    idlePages.run();
  }

  /** A new session of the log, for a context. */
  LogSession session() {
    Log l = log;
    return l == null ? LogSession.unlogged() : l.session();
  }

  /** How large a part of a commit is at most: two of them fit into the largest record. */
  int partBytes() {
    Log l = log;
    int bytes = config.commitPartBytes();
    return l == null ? bytes : Math.min(bytes, l.recordMax() / 2);
  }

  /** A commit that holds no lock of the engine's yet waits until the log has room. */
  void awaitRoom(Waits.Check check) {
    admission.accept(check);
  }
}
