package io.fovea.txn;

import io.fovea.config.Protocol;
import java.util.concurrent.atomic.AtomicLong;

/** The shared memory of an engine's protocol, other than {@link Timestamps}. */
final class ProtocolMemory {
  final LockTable locks;

  final History history;

  final Versions versions;

  /** The number of begins, for protocols that order by them. */
  final AtomicLong clock = new AtomicLong();

  private final Protocol kind;

  @SuppressWarnings({"NullAway", "DataFlowIssue"}) // fields that the protocol does not use are null
  ProtocolMemory(Protocol kind, long bytes) {
    this.kind = kind;
    this.locks = kind == Protocol.TWO_PHASE_LOCKING ? new LockTable(bytes) : null;
    this.history = kind == Protocol.OCC ? new History(bytes) : null;
    this.versions = kind == Protocol.MVTO ? new Versions(bytes) : null;
  }

  long bytes() {
    return switch (kind) {
      case TWO_PHASE_LOCKING -> locks.bytes();
      case OCC -> history.bytes();
      case MVTO -> versions.bytes();
      case TICTOC, SILO, STO -> 0;
    };
  }

  void close() {
    switch (kind) {
      case TWO_PHASE_LOCKING -> locks.close();
      case OCC -> history.close();
      case MVTO -> versions.close();
      case TICTOC, SILO, STO -> {}
    }
  }
}
