package io.fovea.replication;

import java.util.Objects;
import java.util.UUID;

/**
 * The identity of a request: a command that is submitted again under the same identity is applied
 * once.
 *
 * <p>An identity expires, depending on {@link #since} and the window of the session table. A later
 * request is refused and not applied, so a retry is never applied twice.
 *
 * @param client the submitter
 * @param sequence a number that the client uses only once
 * @param since an index of the log below that of the request: the applied index when it was created
 * @since 0.1.0
 */
public record RequestId(UUID client, long sequence, long since) {
  /** Validates the components. */
  public RequestId {
    Objects.requireNonNull(client, "client");
  }

  /**
   * Parses the result of {@link #toString}.
   *
   * @param text client, sequence and index, separated by slashes
   * @return the identity
   * @throws IllegalArgumentException if the text is not a request id
   */
  public static RequestId parse(String text) {
    String[] parts = text.split("/", -1);
    try {
      if (parts.length == 3) {
        return new RequestId(
            UUID.fromString(parts[0]), Long.parseLong(parts[1]), Long.parseLong(parts[2]));
      }
    } catch (IllegalArgumentException e) {
      // reported below
    }
    throw new IllegalArgumentException(
        "\""
            + text
            + "\" is not a request id. Expected: client id, sequence and index, separated by"
            + " slashes.");
  }

  @Override
  public String toString() {
    return client + "/" + sequence + "/" + since;
  }
}
