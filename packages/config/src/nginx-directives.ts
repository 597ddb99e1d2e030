/** What becomes of each directive of nginx that the import knows. */

/** Read by the import; it tells by itself what of one it could not carry over. */
export const CARRIED: ReadonlySet<string> = new Set(
  `http server upstream location listen server_name proxy_pass proxy_set_header proxy_hide_header proxy_pass_header
  add_header return set allow deny satisfy proxy_redirect proxy_cookie_domain proxy_cookie_path client_max_body_size
  proxy_connect_timeout proxy_read_timeout proxy_send_timeout client_header_timeout client_body_timeout send_timeout
  keepalive_timeout ssl_certificate ssl_certificate_key ssl_protocols ssl_ciphers http2 proxy_ssl_name
  proxy_ssl_verify proxy_ssl_trusted_certificate proxy_ssl_certificate proxy_ssl_certificate_key
  proxy_ssl_password_file proxy_ssl_server_name proxy_ssl_session_reuse auth_basic auth_basic_user_file
  sub_filter sub_filter_once sub_filter_types sub_filter_last_modified subs_filter subs_filter_types subs_filter_bypass
  replace_filter replace_filter_types replace_filter_max_buffered_size replace_filter_last_modified replace_filter_skip
  gzip gzip_types gzip_min_length gzip_comp_level gzip_proxied gzip_vary gzip_http_version gzip_disable gzip_buffers
  root alias index try_files fastcgi_pass uwsgi_pass scgi_pass grpc_pass memcached_pass autoindex stub_status
  content_by_lua_block content_by_lua content_by_lua_file empty_gif internal proxy_bind rewrite if error_page
  auth_request auth_jwt limit_except break set_real_ip_from real_ip_header real_ip_recursive`.split(/\s+/),
)

/** About the process that nginx is, its logs and its buffers; or what prexy does anyway. */
export const NEEDLESS: ReadonlySet<string> = new Set(
  `user worker_processes worker_connections worker_rlimit_nofile worker_cpu_affinity worker_priority events use
  multi_accept accept_mutex pid daemon master_process error_log access_log log_format log_not_found log_subrequest
  open_log_file_cache load_module include types default_type sendfile sendfile_max_chunk tcp_nopush tcp_nodelay
  keepalive_requests keepalive_disable reset_timedout_connection server_tokens server_names_hash_bucket_size
  server_names_hash_max_size types_hash_max_size types_hash_bucket_size variables_hash_max_size
  variables_hash_bucket_size map_hash_bucket_size map_hash_max_size charset_types client_body_buffer_size
  client_header_buffer_size large_client_header_buffers client_body_temp_path client_body_in_file_only
  proxy_temp_path fastcgi_temp_path uwsgi_temp_path scgi_temp_path proxy_buffering proxy_request_buffering
  proxy_buffers proxy_buffer_size proxy_busy_buffers_size proxy_max_temp_file_size proxy_temp_file_write_size
  proxy_headers_hash_max_size proxy_headers_hash_bucket_size proxy_http_version proxy_socket_keepalive
  proxy_ignore_client_abort subs_buffers subs_line_buffer_size output_buffers postpone_output resolver_timeout
  ssl_session_cache ssl_session_timeout ssl_session_tickets ssl_buffer_size ssl_prefer_server_ciphers ssl_dhparam
  ssl_ecdh_curve open_file_cache open_file_cache_valid open_file_cache_min_uses open_file_cache_errors expires_by
  lingering_close lingering_time lingering_timeout aio directio thread_pool timer_resolution env pcre_jit
  working_directory lock_file zone absolute_redirect port_in_redirect server_name_in_redirect merge_slashes
  http2_max_concurrent_streams http2_recv_timeout http2_idle_timeout recursive_error_pages uninitialized_variable_warn
  proxy_intercept_errors keepalive_time chunked_transfer_encoding etag if_modified_since`.split(/\s+/),
)

/** Why others are not carried over. */
export const REASONS: Readonly<Record<string, string>> = {
  map: 'variables of a map have no counterpart; rules have conditions (hosts, paths, requestHeaders)',
  geo: 'variables by address have no counterpart',
  split_clients: 'variables by chance have no counterpart',
  limit_req: 'access.rateLimit is near it; its numbers mean something else',
  limit_req_zone: 'access.rateLimit is near it; its numbers mean something else',
  limit_conn: 'limits.maxConnectionsPerAddress is near it, for the whole server',
  limit_conn_zone: 'limits.maxConnectionsPerAddress is near it, for the whole server',
  limit_rate: 'prexy does not slow responses down',
  proxy_cache: 'prexy has no cache',
  proxy_cache_path: 'prexy has no cache',
  proxy_cache_valid: 'prexy has no cache',
  proxy_cache_key: 'prexy has no cache',
  proxy_cache_bypass: 'prexy has no cache',
  proxy_no_cache: 'prexy has no cache',
  proxy_next_upstream: 'prexy decides by itself what may be sent again',
  proxy_method: 'the method goes up as it came',
  proxy_set_body: 'request bodies go up as they came',
  proxy_pass_request_headers: 'request headers always go up',
  proxy_pass_request_body: 'request bodies always go up',
  proxy_ignore_headers: 'prexy acts on no X-Accel field and has no cache',
  expires: 'set Cache-Control and Expires with header rules',
  stream: 'prexy is for HTTP',
  mail: 'prexy is for HTTP',
  resolver: 'names are looked up as the system does it',
  mirror: 'requests are not sent twice',
  charset: 'responses keep the character set that they say',
  more_set_headers: 'write a header rule: headers.response set',
  more_clear_headers: 'write a header rule: headers.response remove',
  more_set_input_headers: 'write a header rule: headers.request set',
}
