"""Where SageMaker finds a model, and in which of its two forms."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_sagemaker as sagemaker


@dataclass(frozen=True, kw_only=True)
class ModelData:
    """url: of a model.tar.gz; unpacked: of a prefix that ends in "/" and holds its members, which nobody unpacks."""

    url: str
    unpacked: bool


def container_definition(
    image_uri: str, data: ModelData | None, environment: dict[str, str]
) -> sagemaker.CfnModel.ContainerDefinitionProperty:
    """data: None where the container brings the model itself."""
    if data is None or not data.unpacked:
        url = None if data is None else data.url
        return sagemaker.CfnModel.ContainerDefinitionProperty(
            image=image_uri, model_data_url=url, environment=environment
        )
    source = sagemaker.CfnModel.S3DataSourceProperty(s3_data_type="S3Prefix", compression_type="None", s3_uri=data.url)
    return sagemaker.CfnModel.ContainerDefinitionProperty(
        image=image_uri,
        model_data_source=sagemaker.CfnModel.ModelDataSourceProperty(s3_data_source=source),
        environment=environment,
    )
