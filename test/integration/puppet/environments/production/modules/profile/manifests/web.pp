# A small web node: containment and all four relationships, tags, a sensitive parameter, data from Hiera, exported and
# collected resources, queries during compilation, and a resource that fails when the fact says so.
class profile::web (
  String $motd,
  Sensitive[String] $secret,
  Integer $port = 8080,
) {
  $certname = $trusted['certname']
  $target = $facts['muster']['target']

  file { [$target, "${target}/peers"]:
    ensure => directory,
  }

  file { "${target}/motd":
    content => $motd,
    mode    => '0640',
    tag     => ['front', 'colour:blau'],
    require => File[$target],
    before  => File["${target}/secret"],
    notify  => Exec['reload'],
  }

  file { "${target}/secret":
    content => $secret,
    mode    => '0600',
  }

  exec { 'reload':
    command     => '/bin/true',
    refreshonly => true,
    subscribe   => File["${target}/secret"],
  }

  if $facts['muster']['broken'] {
    exec { 'broken':
      command => '/bin/false',
    }
    file { "${target}/never":
      content => 'never',
      require => Exec['broken'],
    }
  }

  @@profile::peer { "${certname}-web":
    certname => $certname,
    port     => $port,
    weight   => 1.0,
    labels   => ['web', 'größer'],
    tag      => 'balanced',
  }
  @@profile::peer { "${certname}-admin":
    certname => $certname,
    port     => $port + 1,
    weight   => 0.5,
    labels   => [],
  }
  Profile::Peer <<| (tag == 'balanced' or title == 'nobody') and certname != 'nobody.example.com' and port == 8080 |>>

  # What the compiler knows of the others: once as PQL, once as AST.
  $nodes = puppetdb_query('nodes[certname] { deactivated is null order by certname }')
  $kernels = puppetdb_query(['from', 'facts',
    ['extract', ['value', ['function', 'count']], ['=', 'name', 'kernel'], ['group_by', 'value']]])
  $lines = $nodes.map |$node| { "node ${node['certname']}" } + $kernels.map |$row| { "${row['value']} ${row['count']}" }
  file { "${target}/seen":
    content => $lines.join("\n"),
  }
}
