package io.fovea.ratis;

import java.util.Objects;

/**
 * A member of a group.
 *
 * @param id its name, the same on all peers and for as long as it has its data
 * @param address where the others reach it: host and port, with a colon between them
 * @since 0.1.0
 */
public record Peer(String id, String address) {
  /** Checks the parts. */
  public Peer {
    Objects.requireNonNull(id, "id");
    if (id.isEmpty()) {
      throw new IllegalArgumentException("A peer has a name; this one's is empty.");
    }
    int colon = address.lastIndexOf(':');
    if (colon < 1 || !address.substring(colon + 1).matches("[0-9]{1,5}")) {
      throw new IllegalArgumentException(
          "The address of a peer is host:port, not \"" + address + "\".");
    }
  }

  String host() {
    return address.substring(0, address.lastIndexOf(':'));
  }

  int port() {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }
}
