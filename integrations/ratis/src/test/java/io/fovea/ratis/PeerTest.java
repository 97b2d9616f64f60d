package io.fovea.ratis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PeerTest {
  @ParameterizedTest
  @CsvSource({
    "10.0.0.1:7001, 10.0.0.1, 7001",
    "db-1.example.org:1, db-1.example.org, 1",
    "db_2:65535, db_2, 65535",
    "[::1]:7001, ::1, 7001",
    "[2001:DB8::1:2]:7001, 2001:DB8::1:2, 7001",
    "[::ffff:10.0.0.1]:7001, ::ffff:10.0.0.1, 7001",
    "[fe80::1%eth0]:7001, fe80::1%eth0, 7001"
  })
  void good(String address, String host, int port) {
    Peer p = new Peer("a", address);
    assertEquals(host, p.host());
    assertEquals(port, p.port());
    assertEquals(address, RaftSetup.peer(p).getAddress());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ":",
        "a",
        "a:",
        ":7001",
        "a:0",
        "a:00000",
        "a:65536",
        "a:99999",
        "a:-1",
        "a:+1",
        "a:1x",
        "a:123456",
        "::1",
        "::1:7001",
        "2001:db8::1:7001",
        "[::1]",
        "[::1]:",
        "[::1]:0",
        "[::1]7001",
        "[::1",
        "::1]:7001",
        "[]:7001",
        "[:]:7001",
        "[1]:7001",
        "[::1::2]:7001",
        "[::g]:7001",
        "[10.0.0.1]:7001",
        "[a]:7001",
        "a b:7001",
        "http://a:7001",
        "a,b:7001",
        "b=a:7001",
        "a:7001 "
      })
  void wrong(String address) {
    Exception e = assertThrows(IllegalArgumentException.class, () -> new Peer("a", address));
    assertTrue(e.getMessage().contains("\"" + address + "\""), e.getMessage());
    assertThrows(
        IllegalArgumentException.class,
        () ->
            ReplicationOptions.of(
                    "a", java.nio.file.Path.of("d"), java.util.List.of(new Peer("a", "h:1")))
                .listen(address));
  }

  @Test
  void hostIsUsableBySockets() throws Exception {
    Peer p = new Peer("a", "[::1]:7001");
    InetSocketAddress socket = new InetSocketAddress(InetAddress.getByName(p.host()), p.port());
    assertEquals(7001, socket.getPort());
    assertTrue(socket.getAddress().isLoopbackAddress());
  }
}
