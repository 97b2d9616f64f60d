package io.fovea.cli.console;

import java.net.InetSocketAddress;
import java.net.URI;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Where a console is served.
 *
 * @param address the address to bind to; port 0 for any free one
 * @param name the host name or address in URLs
 * @param tls the keys for HTTPS; null for HTTP
 * @param proxy the URL of a reverse proxy by which browsers reach the console; null for none
 */
public record Site(
    InetSocketAddress address, String name, @Nullable SSLContext tls, @Nullable URI proxy) {
  /**
   * {@return a site that only this machine reaches}
   *
   * @param port the port; 0 for any free one
   */
  public static Site loopback(int port) {
    return new Site(new InetSocketAddress("127.0.0.1", port), "127.0.0.1", null, null);
  }
}
