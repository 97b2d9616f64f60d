package io.fovea.replication;

import java.util.Objects;
import java.util.UUID;

/**
 * The identity of a request: a command that is submitted again with its identity is applied once.
 *
 * <p>It ends: {@link #since} and the window of the session table say when. A request that comes
 * later than that is refused and not applied, so a retry is never applied twice.
 *
 * @param client who submits
 * @param sequence the number of the request, of which the client uses each once
 * @param since an index of the log below that of the request: what was applied when it was made
 * @since 0.1.0
 */
public record RequestId(UUID client, long sequence, long since) {
  /** Checks the parts. */
  public RequestId {
    Objects.requireNonNull(client, "client");
  }

  /**
   * Reads what {@link #toString} wrote.
   *
   * @param text client, sequence and index, with slashes between them
   * @return the identity
   * @throws IllegalArgumentException if the text is none
   */
  public static RequestId parse(String text) {
    String[] parts = text.split("/", -1);
    try {
      if (parts.length == 3) {
        return new RequestId(
            UUID.fromString(parts[0]), Long.parseLong(parts[1]), Long.parseLong(parts[2]));
      }
    } catch (IllegalArgumentException e) {
      // said below
    }
    throw new IllegalArgumentException(
        "\""
            + text
            + "\" is no identity of a request. One is: the client's id, a number and an index, with"
            + " slashes between them.");
  }

  @Override
  public String toString() {
    return client + "/" + sequence + "/" + since;
  }
}
