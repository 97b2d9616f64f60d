package io.fovea.ratis;

import org.apache.ratis.conf.Parameters;
import org.apache.ratis.grpc.GrpcFactory;
import org.apache.ratis.grpc.server.GrpcServices;
import org.apache.ratis.rpc.RpcFactory;
import org.apache.ratis.rpc.RpcType;
import org.apache.ratis.server.RaftServer;

/**
 * Ratis' gRPC transport with {@link SerialAppends} in front of the server. Not for applications:
 * public because Ratis instantiates it by name.
 *
 * @since 0.1.0
 */
public final class SerialGrpc implements RpcType {
  /** Called by Ratis. */
  public SerialGrpc() {}

  @Override
  public String name() {
    return SerialGrpc.class.getName();
  }

  @Override
  public RpcFactory newFactory(Parameters parameters) {
    return new GrpcFactory(parameters) {
      @Override
      public GrpcServices newRaftServerRpc(RaftServer server) {
        return super.newRaftServerRpc(SerialAppends.around(server));
      }
    };
  }
}
