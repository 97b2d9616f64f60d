package io.fovea.txn;

import io.fovea.memory.Blocks;
import io.fovea.memory.Waits;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What all transactions of one engine share; apart from {@link TxEngine#ended} they do not use the
 * engine.
 */
final class TxShared {
  final TxConfig config;

  final int pageSize;

  final EngineHealth health;
  final Timestamps timestamps;
  final ProtocolMemory protocolMemory;
  final Reservations reservations = new Reservations();

  final UpdateLocks updateLocks = new UpdateLocks();

  final CommitGate gate;

  final ScanTimestamps marks = new ScanTimestamps();

  final Blocks memory = new Blocks("working memory of transactions");

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

  /**
   * Sets how to release the page reservations of idle contexts. Called before any transaction
   * begins.
   */
  void onPageShortage(Runnable release) {
    idlePages = release;
  }

  void releaseIdlePages() {
    idlePages.run();
  }

  LogSession session() {
    Log l = log;
    return l == null ? LogSession.unlogged() : l.session();
  }

  /** Returns the maximum size of a commit's part: two of them fit into the largest record. */
  int partBytes() {
    Log l = log;
    int bytes = config.commitPartBytes();
    return l == null ? bytes : Math.min(bytes, l.recordMax() / 2);
  }

  /** Waits for log space, before the commit holds any lock of the engine. */
  void awaitLogSpace(Waits.Check check) {
    admission.accept(check);
  }
}
