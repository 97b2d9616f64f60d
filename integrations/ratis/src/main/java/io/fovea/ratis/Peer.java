package io.fovea.ratis;

import java.net.Inet6Address;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A member of a group.
 *
 * @param id its name, the same on all peers and for as long as the peer keeps its data
 * @param address the address where the others reach it, {@code host:port}; an IPv6 address is in
 *     brackets, as in {@code [2001:db8::1]:7001}
 * @since 0.1.0
 */
public record Peer(String id, String address) {
  private static final Pattern ADDRESS =
      Pattern.compile(
          "(?<host>\\[[0-9A-Fa-f:.]+(%[\\w.-]+)?]|[^\\s:\\[\\],=/]+):(?<port>[0-9]{1,5})");

  private static final int PORT_MAX = 65_535;

  /** Validates the components. */
  public Peer {
    Objects.requireNonNull(id, "id");
    if (id.isEmpty()) {
      throw new IllegalArgumentException("The name of a peer must not be empty.");
    }
    Matcher m = ADDRESS.matcher(address);
    if (!m.matches() || isInvalidIpv6(m.group("host"))) {
      throw new IllegalArgumentException(
          "The address of a peer must be host:port or [IPv6 address]:port, not \""
              + address
              + "\".");
    }
    int port = Integer.parseInt(m.group("port"));
    if (port < 1 || port > PORT_MAX) {
      throw new IllegalArgumentException(
          "The port of a peer must be 1 to "
              + PORT_MAX
              + ", not "
              + port
              + ": \""
              + address
              + "\".");
    }
  }

  private static boolean isInvalidIpv6(String host) {
    if (!host.startsWith("[")) {
      return false;
    }
    String inner = host.substring(1, host.length() - 1);
    int zone = inner.indexOf('%');
    try {
      Inet6Address.ofLiteral(zone < 0 ? inner : inner.substring(0, zone));
      return false;
    } catch (IllegalArgumentException e) {
      return true;
    }
  }

  /** Without the brackets of an IPv6 address. */
  String host() {
    String host = address.substring(0, address.lastIndexOf(':'));
    return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
  }

  int port() {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }
}
