package io.fovea.error;

import org.jspecify.annotations.Nullable;

/**
 * The root of everything that Fovea throws on purpose.
 *
 * <p>Unchecked, because nearly every call of a database can fail and hardly any caller can do
 * something about it on the spot. Sealed, because the set of things that can go wrong is part of
 * the API: a new kind is a change that users should see. The only other exceptions that leave the
 * engine are those that a user's own code threw inside a transaction.
 *
 * @since 0.1.0
 */
public abstract sealed class FoveaException extends RuntimeException
    permits ChangesLostException,
        CorruptionException,
        DatabaseClosedException,
        DatabaseLockedException,
        DuplicateKeyException,
        DurabilityLostException,
        IncompatibleFormatException,
        IncompatibleSchemaException,
        InvalidUseException,
        KeyTooLargeException,
        OperationInterruptedException,
        PoolExhaustedException,
        PoolTooSmallException,
        RecordNotFoundException,
        SequenceExhaustedException,
        SnapshotTooOldException,
        StorageException,
        StorageFullException,
        TransactionAbortedException,
        UncleanShutdownException,
        ValueTooLargeException {
  private static final long serialVersionUID = 1L;

  FoveaException(String message) {
    super(message);
  }

  FoveaException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }

  /** For exceptions that are thrown often: without a stack trace where that is not asked for. */
  FoveaException(String message, @Nullable Throwable cause, boolean stackTrace) {
    super(message, cause, true, stackTrace);
  }
}
