package io.fovea.replication;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The outcome of a request, which is sent to the submitter and kept in the session table.
 *
 * @param kind how the request ended
 * @param index the entry that applied it; for a retry, the entry of the first time
 * @param payload the result, or the reason as UTF-8
 * @since 0.1.0
 */
public record Outcome(Kind kind, long index, byte[] payload) {
  /** How a request ended. */
  public enum Kind {
    /** Its command was applied; the payload is the result. */
    APPLIED,
    /** Its command refused; nothing was changed. */
    REFUSED,
    /** It came too late to know whether it had been applied, and was not applied now. */
    EXPIRED
  }

  private static final Kind[] KINDS = Kind.values();

  static Outcome refused(long index, String why) {
    return new Outcome(Kind.REFUSED, index, why.getBytes(StandardCharsets.UTF_8));
  }

  static Outcome expired(long index, String why) {
    return new Outcome(Kind.EXPIRED, index, why.getBytes(StandardCharsets.UTF_8));
  }

  /** {@return the payload as text: why the request was not applied} */
  public String reason() {
    return new String(payload, StandardCharsets.UTF_8);
  }

  /**
   * Encodes the outcome: kind (1), index (8), payload.
   *
   * @return a new array
   */
  public byte[] toBytes() {
    return ByteBuffer.allocate(9 + payload.length)
        .put((byte) kind.ordinal())
        .putLong(index)
        .put(payload)
        .array();
  }

  /**
   * Decodes an outcome.
   *
   * @param bytes the result of {@link #toBytes}
   * @return the outcome
   */
  public static Outcome of(byte[] bytes) {
    ByteBuffer b = ByteBuffer.wrap(bytes);
    Kind kind = KINDS[b.get()];
    long index = b.getLong();
    byte[] payload = new byte[b.remaining()];
    b.get(payload);
    return new Outcome(kind, index, payload);
  }
}
